"""docs/exit-codes.md says what src/trace/base/errors.def says."""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def test_every_error_is_documented_with_its_status_and_meaning() -> None:
    defined = re.findall(
        r'^TARE_ERROR\((\w+), (\d+), "(.*)"\)$', (REPO / "src/trace/base/errors.def").read_text(), re.MULTILINE
    )
    documented = re.findall(r"^\| (\d+) \| (\w+) \| (.*) \|$", (REPO / "docs/exit-codes.md").read_text(), re.MULTILINE)
    assert len(defined) > 5
    assert [(name, status, meaning) for status, name, meaning in documented] == defined
