"""Functions' names in few columns keep the method."""

from __future__ import annotations

import pytest
from tare.naming.brief_names import brief, without_arguments, without_parameters


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f", "f"),
        ("a::f<int>(int, (anonymous namespace)::B) const", "a::f<int>"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        ("f(int)::{lambda(int)#1}::operator()(int) const", "f::{lambda(int)#1}::operator()"),
        ("std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"),
        ("a::operator<<(std::ostream&, b<(c)1>)", "a::operator<<"),
        ("a::operator[](unsigned long)", "a::operator[]"),
        ("f(", "f"),
        ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<alloc::vec::Vec<T> as core::clone::Clone>::clone"),
        ("<module>", "<module>"),
    ],
)
def test_parameters(name: str, expected: str) -> None:
    assert without_parameters(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void a::f<int, b<c> >", "a::f<…>"),
        ("heap::Worklist<T*, 64>::Local::Push", "heap::Worklist<…>::Local::Push"),
        ("operator new", "operator new"),
        ("bool a::operator< <int>", "bool a::operator< <…>"),
        ("f<int", "f<…>"),
        ("<listcomp>", "<listcomp>"),
        ("read_library.<locals>.<listcomp>", "read_library.<locals>.<listcomp>"),
    ],
)
def test_arguments(name: str, expected: str) -> None:
    assert without_arguments(name) == expected


def test_only_as_much_as_needed_is_left_out() -> None:
    name = "heap::base::Worklist<std::pair<A, B>, 64>::Local::Push(unsigned long)"
    assert brief(name, 80) == name
    assert brief(name, 60) == "heap::base::Worklist<std::pair<A, B>, 64>::Local::Push"
    assert brief(name, 40) == "heap::base::Worklist<…>::Local::Push"
    assert brief(name, 20) == "heap::base::…l::Push"
    assert len(brief(name * 40, 30)) == 30
