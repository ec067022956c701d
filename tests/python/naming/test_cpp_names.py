"""C++ names: shorter where that says the same, untouched everywhere else."""

from __future__ import annotations

import pytest
from tare.naming.cpp_names import shorten

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (STRING, "std::string"),
        (
            f"{STRING}::_M_create(unsigned long&, unsigned long)",
            "std::string::_M_create(unsigned long&, unsigned long)",
        ),
        ("std::basic_string<char32_t, std::char_traits<char32_t>, std::allocator<char32_t> >", "std::u32string"),
        ("f(std::basic_string_view<char, std::char_traits<char> >)", "f(std::string_view)"),
        ("std::basic_ostream<wchar_t, std::char_traits<wchar_t> >::flush()", "std::wostream::flush()"),
        ("std::__1::vector<int, std::__1::allocator<int> >", "std::vector<int>"),
        (f"std::vector<{STRING}, std::allocator<{STRING} > >::push_back", "std::vector<std::string>::push_back"),
        (
            f"std::map<{STRING}, int, std::less<{STRING} >, std::allocator<std::pair<{STRING} const, int> > >",
            "std::map<std::string, int>",
        ),
        (
            "std::unordered_map<int, long, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, long> > >",
            "std::unordered_map<int, long>",
        ),
        ("std::unique_ptr<A, std::default_delete<A> >", "std::unique_ptr<A>"),
        ("std::vector<int, pool<int> >", "std::vector<int, pool<int>>"),
        ("std::set<int, std::greater<int>, std::allocator<int> >", "std::set<int, std::greater<int>>"),
        ("my::vector<int, std::allocator<int> >", "my::vector<int, std::allocator<int>>"),
        (
            "std::function<void (int, long)>::operator()(int, long) const",
            "std::function<void (int, long)>::operator()(int, long) const",
        ),
        ("bool std::operator< <char>(std::less<char> const&)", "bool std::operator< <char>(std::less<char> const&)"),
        (
            "std::ostream& std::operator<< <std::char_traits<char> >(char)",
            "std::ostream& std::operator<< <std::char_traits<char>>(char)",
        ),
        ("std::vector<void (*)(int, int), std::allocator<void (*)(int, int)> >", "std::vector<void (*)(int, int)>"),
        ("std::broken<int", "std::broken<int"),
        ("std::more>than", "std::more>than"),
        ("tare::v0_1_0::Buffer<char>::grow(unsigned long)", "tare::Buffer<char>::grow(unsigned long)"),
        ("std::vector<tare::v1_2::Atom, std::allocator<tare::v1_2::Atom> >", "std::vector<tare::Atom>"),
        ("app::tare::vector::grow()", "app::tare::vector::grow()"),
        ("list_resize", "list_resize"),
        ("<alloc::vec::Vec<T> as Trait>::method", "<alloc::vec::Vec<T> as Trait>::method"),
    ],
)
def test_shorten(name: str, short: str) -> None:
    assert shorten(name) == short
