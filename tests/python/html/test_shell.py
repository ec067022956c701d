"""Scripts and styles without blanks: what a browser reads stays the same, token by token."""

from __future__ import annotations

import re

import pytest
from tare.html import shell


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("const a = 1; // one\nlet b  =  a;", "const a=1;let b=a;"),
        ("return /a b\\/[/ ]/g.test(x) ;", "return/a b\\/[/ ]/g.test(x);"),
        ("x.length / 2 / (y) / z", "x.length/2/(y)/z"),
        ("x.return / 2 / z", "x.return/2/z"),
        ("a + +b - -c + ++d", "a+ +b- -c+ ++d"),
        ("if (a) { b( ) ; } else { c ; }", "if(a){b()}else{c}"),
        ("f('a  b', \"// c\")", "f('a  b',\"// c\")"),
        ("`a  ${ b  +  `c  ${ {d : 1}.d } e` }  f` + g", "`a  ${b+`c  ${{d:1}.d} e`}  f`+g"),
        ("`a \\` \\${ b }  $ c`", "`a \\` \\${ b }  $ c`"),
        ("/* a\n b */ typeof  x", "typeof x"),
    ],
)
def test_blanks_that_part_nothing_go(code: str, expected: str) -> None:
    assert shell.without_blanks(code) == expected


def test_every_text_of_the_scripts_stays() -> None:
    """Of each line without a template inside another: texts, and templates up to their first inserted value."""
    made, found = shell.script(), 0
    for line in (line for name in shell.SCRIPTS for line in _code(name).splitlines()):
        quotes = line.count("`")
        expected = (
            re.findall(r"'[^'\\]*'", line) if not quotes else re.findall(r"`[^`$]*[`$]", line) if quotes == 2 else []
        )
        found += len(expected)
        assert all(text in made for text in expected), line
    assert found > 300
    assert made.count("`") == sum(_code(name).count("`") for name in shell.SCRIPTS)


def _code(name: str) -> str:
    return re.sub(r"^\s*//.*$|\s// [^'\"`]*$", "", shell.asset(name), flags=re.MULTILINE)


def test_the_style_keeps_its_values() -> None:
    made = shell.style()
    assert "@media (prefers-contrast:more)" in made or "@media (prefers-contrast: more)" in made
    assert ":root:not([data-theme])" in made
    assert "minmax" in made or "1fr 1fr" in made or "150px 1fr" in made
    assert 'content:" ↓"' in made
    assert made.count("{") == made.count("}") == shell.asset("style.css").count("{")
    assert not re.search(r"\n|  |/\*", made)
