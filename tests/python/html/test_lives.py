"""The embedded cells: columns decoded by code of the test's own are the rows that went in, merged where nodes are."""

from __future__ import annotations

import io
import json

from handmade import Handmade
from page_store import decoded_header, numbers_of
from tare.html import page
from tare.html.lives import Lives
from tare.html.varints import varints


def made() -> Handmade:
    made = Handmade()
    first, second = made.stack("grow@a.c:1", "main@a.c:9"), made.stack("other@a.c:2", "main@a.c:10")
    for stack, total, end in ((first, 70, 20), (second, 5, 0)):
        made.blocks(stack, 20, 24, total=total, peak=total, end=end)
    rows = (
        (first, 0, None, None, 20, 24, 10.0),
        (first, 0, 0, 2, 20, 24, 50.0),
        (first, 0, 0, 2, 90, 104, 2.0),
        (first, 0, 3, None, 20, 24, 10.0),
        (second, 7, 1, 1, 0, 24, 5.0),
    )
    for number, (stack, thread, birth, death, requested, usable, blocks) in enumerate(rows):
        made.tables["lifetimes"].append(
            {"size_id": number, "stack_id": stack, "thread": thread, "allocated_interval": birth, "freed_interval": death,
             "requested_bytes": requested, "usable_bytes": usable, "header_bytes": 8, "blocks": blocks}
        )  # fmt: skip
    made.tables["intervals"] = [{"interval": at, "end_ns": 500_000_000 * (at + 1)} for at in range(4)]
    return made


def cells(lives: Lives, place: list[int], most: int = 100) -> list[tuple[int, ...]]:
    facts, data = lives.encode(place, most)
    assert facts["threaded"]
    numbers = numbers_of(data)
    columns = [[next(numbers) for _ in range(facts["cells"])] for _ in range(11)]
    assert next(numbers, None) is None
    blocks = columns[4]
    for unit, each, rest in zip(facts["units"], columns[5::2], columns[6::2], strict=True):
        sums = [unit * (q * count + r) for q, r, count in zip(each, rest, blocks, strict=True)]
        each[:], rest[:] = (list(part) for part in zip(*map(divmod, sums, blocks), strict=True))
    return list(zip(*columns, strict=True))


def test_sums_are_stored_in_units_of_their_common_divisor() -> None:
    facts, _ = Lives(made().recording(), {1: 0, 2: 1, 3: 0, 4: 2}).encode([0, 1, 2])
    assert facts["units"] == [32, 4, 8]


def test_rows_of_a_node_and_its_intervals_are_one() -> None:
    lives = Lives(made().recording(), {1: 0, 2: 1, 3: 0, 4: 2})
    # node from the one before, birth + 1, death, thread, blocks, then quotient and rest of gross, slop and header
    assert cells(lives, [0, 1, 2]) == [
        (1, 0, 0, 0, 10, 32, 0, 4, 0, 8, 0),
        (0, 1, 3, 0, 52, 35, 4, 4, 20, 8, 0),
        (0, 4, 0, 0, 10, 32, 0, 4, 0, 8, 0),
        (1, 2, 1, 7, 5, 32, 0, 24, 0, 8, 0),
    ]


def test_intervals_are_joined_where_there_are_too_many_cells() -> None:
    """The peak, at 1 s, and the end stay ends of intervals."""
    lives = Lives(made().recording(), {1: 0, 2: 1, 3: 0, 4: 2})
    facts, _ = lives.encode([0, 1, 2], 1)
    assert (facts["ends"], facts["intervals"], facts["joined"]) == ([1_000_000_000, 2_000_000_000], [1, 3], 2)
    assert cells(lives, [0, 1, 2], 1) == [
        (1, 0, 0, 0, 10, 32, 0, 4, 0, 8, 0),
        (0, 1, 2, 0, 52, 35, 4, 4, 20, 8, 0),
        (0, 2, 0, 0, 10, 32, 0, 4, 0, 8, 0),
        (1, 1, 1, 7, 5, 32, 0, 24, 0, 8, 0),
    ]


def test_folded_nodes_keep_their_sums() -> None:
    lives = Lives(made().recording(), {1: 0, 2: 1, 3: 0, 4: 2})
    for place in ([0, 1, 2], [0, 1, 1], [0, 0, 0]):
        found = cells(lives, place)
        assert sum(each[4] for each in found) == 77
        assert sum(each[4] * each[5] + each[6] for each in found) == 70 * 32 + 2 * 112 + 5 * 32


def test_a_page_has_measures_of_the_end_from_its_cells() -> None:
    out = io.BytesIO()
    page.write(made().recording(), out)
    header = decoded_header(out.getvalue().decode())
    quantities = {key: quantity for key, _, _, _, quantity in header["measures"]}
    assert quantities["end.gross"] == "gross"  # 20 blocks of the first stack
    assert quantities["total.blocks"] == ""  # 8 blocks of the first stack have no row in lives
    assert json.dumps(header["ends"]) == "[500000000, 1000000000, 1500000000, 2000000000]"


def test_columns_of_large_and_small_numbers() -> None:
    for values in ([], [0, 1, 127], [128, 0, 1 << 50]):
        assert list(numbers_of(varints(values))) == values
