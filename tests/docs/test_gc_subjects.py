"""The table of Oilpan's subjects: each test of ours that it names exists, and its numbers add up."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/gc-subjects.md").read_text()


def rows(heading: str) -> list[tuple[list[str], str]]:
    """(their tests, ours) of the table under a heading."""
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^\| [-\w]+ \| (.*) \| (.*) \|$", part, re.MULTILINE)
    return [(names.split(", "), ours) for names, ours in found if names != "subject"]


def test_every_test_that_is_named_exists() -> None:
    sources = [*ROOT.glob("tests/lib/**/*_test.cc"), *ROOT.glob("tests/examples/*_test.cc")]
    declared = {
        f"{suite}.{name}"
        for source in sources
        for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source.read_text(), re.MULTILINE)
    }
    named = set(re.findall(r"\b([A-Z]\w+\.[A-Z]\w+)\b", PAGE))
    assert named and not named - declared


def test_the_numbers_are_those_of_the_rows() -> None:
    counts = []
    for heading, total in (("The 132", 132), ("The 197", 197)):
        table = rows(heading)
        assert sum(len(names) for names, _ in table) == total
        missing = sum(len(names) for names, ours in table if ours.startswith("none: "))
        counts += [total - missing, missing]
    a, b, c, d = counts
    assert f"Of the 132, {a} have a counterpart and {b} none; of the 197, {c} and {d}." in PAGE
