"""Types of tare::gc, and sizes of its cells with other decodings."""

from __future__ import annotations

from tare.types.collected_types import Collected, Counted, counted_at, find_types, is_report_of_types
from tare.types.layouts import MOVABLE, Type
from tare.types.type_sites import Types

HEAP = "tare::gc::Heap"


def telling(heap: int, at_ns: int, **types: tuple[int, int]) -> list[tuple[str | None, int, int]]:
    told: list[tuple[str | None, int, int]] = [(f"{HEAP}/{heap}/pages", at_ns, 65536)]
    for step, (name, (objects, cells)) in enumerate(types.items()):
        told.append((f"{HEAP}/{heap}/objects/{name}", at_ns + step, objects))
        told.append((f"{HEAP}/{heap}/cells/{name}", at_ns + step, cells))
    return told


def type_of(name: str, size: int, reordered: int) -> Type:
    return Type(
        0,
        name,
        "struct",
        "C++",
        "a.cc",
        1,
        size,
        8,
        size - reordered,
        0,
        0,
        1,
        0,
        MOVABLE,
        reordered,
        0,
        size,
        reordered,
        0,
        0,
    )


def test_of_each_heap_the_telling_nearest_to_the_peak() -> None:
    amounts = [
        *telling(1, 100, Node=(10, 400)),
        *telling(2, 110, Leaf=(1, 40)),
        ("explicit/cache", 120, 7),
        (None, 121, 7),
        *telling(1, 1000, Node=(20, 800), Leaf=(5, 200)),
        *telling(2, 5000, Leaf=(9, 360)),
    ]
    assert counted_at(amounts, 900) == [Counted("Node", 20, 800), Counted("Leaf", 5, 200), Counted("Leaf", 1, 40)]
    assert counted_at(amounts, 0) == [Counted("Node", 10, 400), Counted("Leaf", 1, 40)]
    assert counted_at([], 0) == []


def test_half_a_telling_counts_as_far_as_it_goes() -> None:
    amounts = telling(1, 100, Node=(10, 400), Leaf=(1, 40))[:-1]
    assert counted_at(amounts, 0) == [Counted("Node", 10, 400)]


def test_names_with_slashes_and_templates_stay_whole() -> None:
    assert counted_at(telling(1, 1, **{"a::B<'/', 1>": (2, 80)}), 1) == [Counted("a::B<'/', 1>", 2, 80)]


def test_what_programs_believe_is_no_telling() -> None:
    assert is_report_of_types(f"{HEAP}/3/objects/Node")
    assert is_report_of_types(f"{HEAP}/3/pages")
    assert not is_report_of_types(f"{HEAP}/3")
    assert not is_report_of_types("explicit/cache")
    assert not is_report_of_types(None)


def test_types_are_found_by_name_and_heaps_added_up() -> None:
    types = Types([type_of("(anonymous namespace)::Node", 40, 32)])
    counted = [
        Counted("{anonymous}::Node", 10, 480),
        Counted("(anonymous namespace)::Node", 1, 48),
        Counted("Other", 1, 48),
    ]
    (found,) = find_types(counted, [types])
    assert (found.type.name, found.objects, found.cell_bytes) == ("(anonymous namespace)::Node", 11, 528)


def test_cells_decide_what_is_saved() -> None:
    # 40 bytes and 4 of header lie in 48, 32 and 4 in 40, 36 and 4 in 40, too.
    node = type_of("Node", 40, 32)
    assert Collected(node, 10, 480).saved_bytes(32) == 80
    assert Collected(node, 10, 480).saved_bytes(36) == 80
    assert Collected(node, 10, 480).saved_bytes(39) == 0
    # With arrays behind them the cells are of many sizes.
    assert Collected(node, 10, 4096).saved_bytes(32) == 80


def test_cells_lie_in_pages_of_two_sizes() -> None:
    assert Collected(type_of("Small", 40, 32), 10, 480).page_bytes == 65536
    assert Collected(type_of("Large", 2500, 2400), 10, 25600).page_bytes == 262144
