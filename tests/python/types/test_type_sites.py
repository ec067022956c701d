"""Which type a site allocates: names of allocating functions, variables, sizes; and where nothing may be said."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from tare.types.layouts import Type
from tare.types.type_sites import Caller, Types, allocated_by, arguments_of, own_name, type_of_blocks

IDS = count()


def made(
    name: str, size: int, *, saved: int = 0, file: str = "/src/a.cc", line: int = 7, order: str = "movable"
) -> Type:
    values: dict[str, Any] = {
        "type_id": next(IDS),
        "name": name,
        "kind": "struct",
        "language": "C++",
        "file": file,
        "line": line,
        "size_bytes": size,
        "reordered_bytes": size - saved,
        "narrow_bytes": size,
        "narrow_reordered_bytes": size - saved,
        "order_state": order,
        "align_bytes": 8,
    }
    return Type(*(values.get(field, 0) for field in Type._fields))


PARCEL = made("(anonymous namespace)::Parcel", 104, saved=40, line=11)
NODE = made("zoo::Node", 48, saved=8)
LEAF = made("zoo::Leaf", 48, line=9)
TREE_NODE = made("std::_Rb_tree_node<std::pair<int const, zoo::Node> >", 88, file="/usr/include/c++/12/bits/stl_tree.h")
TYPES = Types([PARCEL, NODE, LEAF, TREE_NODE])
HERE = Caller([], TYPES)


def sees(*pointed: tuple[int, str, int, int]) -> Caller:
    return Caller(pointed, TYPES)


@pytest.mark.parametrize(
    ("function", "allocated"),
    [
        ("std::__new_allocator<zoo::Node>::allocate(unsigned long, void const*)", ["zoo::Node"]),
        ("std::allocator_traits<std::allocator<zoo::Node> >::allocate(std::allocator<zoo::Node>&, unsigned long)", ["zoo::Node"]),
        ("void std::vector<zoo::Node, std::allocator<zoo::Node> >::_M_realloc_insert<zoo::Node>(zoo::Node&&)", ["zoo::Node", "zoo::Node"]),
        ("std::_MakeUniq<zoo::Node>::__single_object std::make_unique<zoo::Node, int>(int&&)", ["zoo::Node"]),
        ("(anonymous namespace)::read(std::vector<zoo::Node, std::allocator<zoo::Node> > const&)", []),
        ("std::vector<zoo::Node, std::allocator<zoo::Node> > zoo::all<int>(int)", []),
        ("std::vector<char>", ["char"]),
        ("std::vector<unclosed", []),
        ("", []),
    ],
)  # fmt: skip
def test_functions_name_what_they_allocate(function: str, allocated: list[str]) -> None:
    assert allocated_by(function) == allocated


def test_own_names_are_without_what_is_returned_and_taken() -> None:
    assert own_name("void a::b<int, c (*)(d)>::e<f>(g) const") == "a::b<int, c (*)(d)>::e<f>"
    assert own_name("(anonymous namespace)::f(int)") == "(anonymous namespace)::f"
    assert own_name("malloc") == "malloc"


def test_arguments_are_split_outside_brackets() -> None:
    assert arguments_of("a<b<c, d>, e (*)(f, g), h[2]>") == ["b<c, d>", "e (*)(f, g)", "h[2]"]
    assert arguments_of("plain") == []


def test_an_allocators_argument_is_sure_and_may_be_many() -> None:
    typed = type_of_blocks(
        ["operator new(unsigned long)", "std::__new_allocator<zoo::Node>::allocate(unsigned long)"], [HERE], 480, [480]
    )
    assert typed is not None
    assert (typed.type, typed.objects, typed.certainty) == (NODE, 10, "high")
    assert "allocate" in typed.by


def test_what_doesnt_fit_the_size_isnt_said() -> None:
    assert type_of_blocks(["std::__new_allocator<zoo::Node>::allocate(unsigned long)"], [HERE], 100, [100]) is None


def test_chars_in_a_vector_arent_what_else_has_their_size() -> None:
    assert type_of_blocks(["std::vector<char, std::allocator<char> >::reserve(unsigned long)"], [sees((0, "Parcel", 104, 11))], 104, [104]) is None  # fmt: skip


def test_a_containers_node_is_read_for_the_programs_own_type() -> None:
    typed = type_of_blocks(
        ["std::__new_allocator<std::_Rb_tree_node<std::pair<int const, zoo::Node> > >::allocate(unsigned long)"], [HERE], 88, [88]
    )  # fmt: skip
    assert typed is not None
    assert (typed.type, typed.objects, typed.certainty) == (NODE, 1, "medium")


def test_a_variable_of_the_size_is_probable_and_further_out_a_guess() -> None:
    here = type_of_blocks(["tracker::accept()"], [sees((0, "Parcel", 104, 11)), HERE], 104, [104])
    outside = type_of_blocks(["xmalloc"], [HERE, sees((0, "Parcel", 104, 11))], 104, [104])
    assert here is not None and outside is not None
    assert (here.type, here.certainty) == (PARCEL, "medium")
    assert (outside.type, outside.certainty) == (PARCEL, "low")


def test_of_inlined_functions_the_nearest_decides() -> None:
    typed = type_of_blocks(["f"], [sees((0, "Leaf", 48, 9), (1, "Node", 48, 7))], 48, [48])
    assert typed is not None
    assert typed.type == LEAF


def test_two_variables_of_one_size_tell_nothing() -> None:
    assert type_of_blocks(["f"], [sees((0, "Leaf", 48, 9), (0, "Node", 48, 7))], 48, [48]) is None


def test_a_size_that_one_type_has_is_a_guess() -> None:
    typed = type_of_blocks(["f"], [HERE], 104, [104])
    assert typed is not None
    assert type_of_blocks(["f"], [Caller([], Types([])), HERE], 104, [104]) is None  # of another module than the site's
    assert (typed.type, typed.certainty) == (PARCEL, "low")
    assert type_of_blocks(["f"], [HERE], 48, [48]) is None  # two have it
    assert type_of_blocks(["f"], [HERE], 88, [88]) is None  # the system's
    assert type_of_blocks(["f"], [Caller([], Types([made("Small", 24, saved=8)]))], 24, [24]) is None  # so many have it


def test_a_variable_may_point_to_an_array() -> None:
    typed = type_of_blocks(["luaH_resize"], [sees((0, "Leaf", 48, 9)), HERE], 480, [480])
    assert typed is not None
    assert (typed.type, typed.objects, typed.certainty) == (LEAF, 10, "low")


def test_what_may_be_an_array_isnt_guessed_by_its_size() -> None:
    types = Types([made("Parser", 96, saved=8), NODE, LEAF])
    assert type_of_blocks(["f"], [Caller([(0, "Leaf", 48, 9), (0, "Node", 48, 7)], types)], 96, [96]) is None
    alone = type_of_blocks(["f"], [Caller([], types)], 96, [96])
    assert alone is not None and alone.type.name == "Parser"


def test_who_asks_for_many_sizes_makes_arrays_of_what_divides_them_all() -> None:
    sees_leaf = [sees((0, "Leaf", 48, 9))]
    typed = type_of_blocks(["grow"], sees_leaf, 96, [48, 96, 192, 384, 768])
    assert typed is not None
    assert (typed.type, typed.objects) == (LEAF, 2)
    assert type_of_blocks(["text"], sees_leaf, 96, [48, 50, 96, 100, 128]) is None
    assert type_of_blocks(["text"], sees_leaf, 48, [40, 41, 45, 47, 48]) is None
    assert type_of_blocks(["text"], [HERE], 104, [40, 104]) is None  # nor does one of two sizes determine it


def test_types_of_one_name_that_differ_arent_told() -> None:
    twice = Types([made("a::T", 64, saved=8), made("b::T", 64, saved=16)])
    assert type_of_blocks(["f"], [Caller([(0, "T", 64, 0)], twice)], 64, [64]) is None
