"""Types weighed by live objects, as text: widths, and what is said where nothing is known."""

from __future__ import annotations

import pytest
from tare.reports import weighed_types


@pytest.mark.parametrize("width", [40, 80, 200])
def test_where_no_type_is_known_it_says_what_that_needs(width: int) -> None:
    told = list(weighed_types.lines([], 1e6, 25, width))
    assert all(len(line) <= width for line in told)
    assert "debug information" in " ".join(told)
    assert "0 B" not in " ".join(told)
