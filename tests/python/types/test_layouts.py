"""Types of binaries: found by name, priced as blocks, and the fewest moves that make an order."""

from __future__ import annotations

from handmade_types import a_type
from tare.types.layouts import Blocks, matching, moves, price


def test_names_are_found_as_they_are_and_as_people_write_them() -> None:
    string = a_type("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", 32)
    types = [string, a_type("net::Packet", 8), a_type("net::PacketQueue", 8)]
    assert [each.name for each in matching(types, "Packet")] == ["net::Packet"], "as pahole -C has it"
    assert [each.name for each in matching(types, "Pack")] == ["net::Packet", "net::PacketQueue"]
    assert [each.name for each in matching(types, "net::*Packet")] == ["net::Packet"]
    assert matching(types, "std::string") == [string]
    assert matching(types, "nothing") == []


def test_a_smaller_type_in_the_same_class_saves_nothing() -> None:
    types = [a_type("A", 40, 36), a_type("B", 48, 40), a_type("C", 56, 40, 24)]
    assert price(types, "jemalloc") == [Blocks(48, 48, 48, 48), Blocks(48, 48, 48, 48), Blocks(64, 48, 32, 32)]
    assert [each.saved_bytes for each in price(types, "glibc")] == [0, 16, 16]
    assert [each.narrow_saved_bytes for each in price(types, "glibc")] == [0, 16, 32]


def test_the_fewest_fields_move() -> None:
    assert moves([0, 1, 2]) == []
    assert moves([1, 2, 3, 0]) == [(0, 3)]
    assert moves([3, 0, 1, 2]) == [(3, None)]
    assert moves([0, 2, 1, 4, 3]) in ([(1, 2), (3, 4)], [(2, 0), (4, 1)])
    assert len(moves([4, 3, 2, 1, 0])) == 4


def test_system_headers_are_known_by_their_place() -> None:
    assert a_type("A", 8, file="/usr/include/c++/12/bits/a.h").is_system
    assert not a_type("A", 8).is_system
    assert not a_type("A", 8, file=None).is_system
