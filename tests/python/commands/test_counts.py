"""Counts: the seed's table, line by line."""

from __future__ import annotations

from handmade import Handmade
from tare.commands.counts import as_json, concordance, lines

# the ten lines of the seed
SEED = """
( 1 ) 205920 (22.7%, 22.7%) small:     24 ->     32 (     8 )
( 2 )  66162 ( 7.3%, 29.9%) small:     72 ->     80 (     8 )
( 3 )  61772 ( 6.8%, 36.7%) small:     40 ->     48 (     8 )
( 4 )  54386 ( 6.0%, 42.7%) small:   1056 ->   2048 (   992 )  clownshoe
( 5 )  48501 ( 5.3%, 48.0%) small:     18 ->     32 (    14 )
( 6 )  47668 ( 5.2%, 53.3%) small:     15 ->     16 (     1 )
( 7 )  24938 ( 2.7%, 56.0%) large:   4095 ->   4096 (     1 )
( 8 )  24278 ( 2.7%, 58.7%) small:     56 ->     64 (     8 )
( 9 )  13064 ( 1.4%, 60.1%) small:    104 ->    112 (     8 )
(10 )  12852 ( 1.4%, 61.6%) small:    136 ->    144 (     8 )
""".strip().splitlines()

SIZES = [
    (205920, 24, 32, 16, "small"), (66162, 72, 80, 64, "small"), (61772, 40, 48, 32, "small"), (54386, 1056, 2048, 1024, "small"),
    (48501, 18, 32, 16, "small"), (47668, 15, 16, 8, "small"), (24938, 4095, 4096, 2048, "large"), (24278, 56, 64, 48, "small"),
    (13064, 104, 112, 96, "small"), (12852, 136, 144, 128, "small"),
]  # fmt: skip


def seed() -> Handmade:
    made = Handmade(allocator="jemalloc")
    for count, requested, usable, below, kind in SIZES:
        # from two stacks: the table is by size, wherever it is asked for
        for name, part in (("f", count // 3), ("g", count - count // 3)):
            made.blocks(made.stack(name, "main"), requested, usable, total=part, header=0)
        made.size_class(requested, usable, below, kind, clownshoe=requested == 1056)
    rest = 909_062 - sum(count for count, *_ in SIZES)
    for number in range(rest // 10_000 + 1):
        size = 10_000 + 16 * number
        made.blocks(made.stack("h"), size, size, total=min(10_000, rest - 10_000 * number), header=0)
        made.size_class(size, size, 0, "large")
    return made


def test_the_seeds_ten_lines() -> None:
    printed = list(lines(concordance(seed().recording(), modelled=False), 10))
    assert printed[0] == "909062 numbers:"
    assert printed[1:11] == SEED
    assert printed[11] == "  (35 more)"
    assert any(
        line.startswith("clownshoes: 53,950,912 bytes") and "1,056 -> 2,048 x 54,386" in line for line in printed
    )


def test_a_model_prices_the_same_requests_anew() -> None:
    made = Handmade()
    made.blocks(made.stack("f"), 1032, 1032, total=3)
    made.size_class(1032, 2048, 1024, clownshoe=1)
    (measured,) = concordance(made.recording(), modelled=False)
    (modelled,) = concordance(made.recording(), modelled=True)
    assert measured.usable_bytes == 1032
    assert (modelled.usable_bytes, modelled.slop_bytes, modelled.clownshoe) == (2048, 1016, True)


def test_large_numbers_widen_the_columns_and_nothing_is_nothing() -> None:
    made = Handmade()
    assert next(lines(concordance(made.recording(), modelled=False), 10)) == "0 numbers:"
    made.blocks(made.stack("f"), 123_456_789, 123_457_536, total=1)
    text = list(lines(concordance(made.recording(), modelled=False), 10))
    assert text[1] == "( 1 ) 1 (100.0%, 100.0%) ?: 123456789 -> 123457536 (      747 )"


def test_json() -> None:
    got = as_json(concordance(seed().recording(), modelled=False), "jemalloc")
    assert got["count"] == 909_062
    assert got["sizes"][3] == {
        "count": 54386, "class": "small", "requested_bytes": 1056, "usable_bytes": 2048, "slop_bytes": 992, "clownshoe": True,
    }  # fmt: skip
