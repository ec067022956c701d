"""The limits of --budget, as the recorder gets them."""

from __future__ import annotations

import pytest
from tare.commands.options import DEFAULT_BUDGET
from tare.errors import TareError
from tare.watch import budget


def test_limits() -> None:
    assert budget.parsed("") == ""
    assert budget.parsed(DEFAULT_BUDGET) == "cpu=0.5%"
    assert budget.parsed("cpu=0.25%,memory=16M,disk=1G") == f"cpu=0.25%,memory={16 << 20},disk={1 << 30}"
    assert budget.parsed("disk=100000G") == f"disk={(1 << 40) - 1}"  # the recorder's greatest number


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("./server", "needs limits such as"),
        ("cpu", "needs a share of the program's CPU time"),
        ("cpu=0%", "needs a share"),
        ("cpu=101%", "needs a share"),
        ("cpu=0.5", "needs a share"),
        ("cpu=1%,", "needs limits such as"),
        ("cpu=1%,cpu=2%", "two limits cpu"),
        ("memory=64K", "needs at least 1024K"),
        ("disk=64K", "needs at least 256K"),
        ("disk=much", "--budget disk"),
    ],
)
def test_wrong_limits(text: str, message: str) -> None:
    with pytest.raises(TareError, match=message):
        budget.parsed(text)


def test_limits_of_a_recording() -> None:
    assert budget.limits("", "run") == (0, 0, 0)
    assert budget.limits("cpu=0.25%", "run") == (0.0025, 0, 0)
    assert budget.limits("disk=1G,cpu=2%,memory=16M", "run") == (0.02, 16 << 20, 1 << 30)
    with pytest.raises(TareError, match=r"attach: --budget needs limits such as"):
        budget.limits("./server", "attach")
