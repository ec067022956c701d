"""Records: sums, order, filters, and sizes."""

from __future__ import annotations

import pytest
from handmade import Handmade
from tare.analysis import records
from tare.errors import TareError


def names(made: Handmade, sort: str, counted: str = "peak_blocks", filters: tuple[str, ...] = ()) -> list[str]:
    page = records.query(made.recording(), counted, sort, filters, None)
    return [record.stack[0].function for record in page.records]


def test_each_order_is_by_its_own_measure(busy: Handmade) -> None:
    assert names(busy, "usable") == ["arena_grow", "new_node", "append", "format"]
    assert names(busy, "requested") == ["new_node", "arena_grow", "append", "format"]
    assert names(busy, "slop")[:2] == ["arena_grow", "append"]
    assert names(busy, "blocks")[0] == "new_node"
    assert names(busy, "usable", "end_blocks") == ["new_node"]
    assert names(busy, "blocks", "total_blocks")[0] == "format"


def test_sums_and_shares_are_of_the_whole_moment(busy: Handmade) -> None:
    page = records.query(busy.recording(), "peak_blocks", "usable", [], 2)
    assert (len(page.records), page.matching) == (2, 4)
    first = page.records[0]
    assert (first.blocks, first.requested_bytes, first.usable_bytes, first.slop_bytes) == (
        400,
        412_800,
        816_000,
        403_200,
    )
    assert page.gross_bytes == 1_459_360


def test_filters_must_all_hold_and_negate(busy: Handmade) -> None:
    assert names(busy, "usable", filters=("tree.c",)) == ["new_node"]
    assert "new_node" not in names(busy, "usable", filters=("!insert",))
    assert names(busy, "usable", filters=("main", "!insert", "!parse")) == ["append", "format"]
    page = records.query(busy.recording(), "peak_blocks", "usable", ["nowhere"], None)
    assert not page.records and page.gross_bytes == 1_459_360


def test_depth_decides_what_is_one_site(made: Handmade) -> None:
    for caller in ("a", "b"):
        made.blocks(made.stack("f", caller, "main"), 8, 24, total=1, peak=1)
    assert len(names(made, "usable")) == 2
    made.depth = 1
    assert names(made, "usable") == ["f"]


def test_individual_sizes_as_dmd_prints_them(made: Handmade) -> None:
    stack = made.stack("f")
    for usable, blocks in ((24, 5), (4096, 1), (40, 2)):
        made.blocks(stack, usable, usable, total=blocks, peak=blocks)
    (record,) = records.query(made.recording(), "peak_blocks", "usable", [], None).records
    assert records.sizes_line(record) == "4,096; 24 x 5; 40 x 2"
    for usable in range(100, 120):
        made.blocks(stack, usable, usable, total=1, peak=1)
    (record,) = records.query(made.recording(), "peak_blocks", "usable", [], None).records
    assert records.sizes_line(record).endswith("; (15 more)")


@pytest.mark.parametrize(
    ("text", "ns"),
    [("1.5s", 1_500_000_000), ("300ms", 300_000_000), ("2", 2_000_000_000), ("1min", 60_000_000_000), ("7ns", 7)],
)
def test_times(text: str, ns: int) -> None:
    assert records.parse_time(text) == ns


@pytest.mark.parametrize("text", ["noon", "-1s", "", "s", "9" * 301, "9" * 400])
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(TareError, match="--at needs peak, end or a time"):
        records.parse_time(text)
