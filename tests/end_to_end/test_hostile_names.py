"""Symbols, programs and files whose names are made to harm who reads a report: shown, never obeyed, within bounds."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

SOURCE = Path(__file__).parent / "programs/named_by_bytes.c"

# Sets a window's title, colours, erases by one byte of C1, turns the writing's direction, and forges a line.
HOSTILE = "evil\x1b]0;OWNED\x07\x1b[31mred\x9b2J\u202egnp\x7f"
SHOWN = r"evil\x1b]0;OWNED\x07\x1b[31mred\u009b2J\u202egnp\x7f"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

VERBS = (
    ("report",),
    ("report", "--depth", "4", "--folded"),
    ("report", "--mode", "cumulative"),
    ("sql", "select function, file from frames"),
    ("sql", "select exe, command_line from process"),
    ("tree",),
    ("counts",),
    ("model",),
    ("report", "no-such-\x1b[31m.tare"),
)


def compiled(folder: Path, symbol: str, name: str) -> Path:
    path = folder / name
    text = symbol.encode()
    quoted = "".join(f"\\{byte:03o}" for byte in text)
    command = ["gcc", "-O1", "-g0", f'-DSYMBOL="\\"{quoted}\\""', SOURCE, "-o", path]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def trace(tare: Tare) -> Path:
    """Of a program with both names; what is printed when it ends is looked at too."""
    program = compiled(tare.folder, HOSTILE, f"p {HOSTILE}")
    done = tare("run", "-o", f"t {HOSTILE}.tare", "--", program)
    assert done.returncode == 0, done.stderr
    assert SHOWN in done.stderr
    assert not OBEYED.search(done.stderr), done.stderr
    return tare.folder / f"t {HOSTILE}.tare"


def test_text_shows_them_and_json_is_exact(tare: Tare, trace: Path) -> None:
    texts = []
    for verb, *words in VERBS:
        file = [] if any(".tare" in word for word in words) else [trace]
        done = tare(verb, *file, *words)
        assert not OBEYED.search(done.stdout), (verb, words, done.stdout)
        assert not OBEYED.search(done.stderr), (verb, words, done.stderr)
        texts.append(done.stdout)
    assert sum(SHOWN in text for text in texts) >= 4
    text = tare("sql", trace, "select distinct function from frames where function like 'evil%'", "--json").stdout
    assert not OBEYED.search(text)
    assert json.loads(text) == [{"function": HOSTILE}]
    assert tare.report(trace)["program"] == f"p {HOSTILE}"


def doubling(levels: int) -> str:
    """A C++ function's name whose parameters are functions of two of the parameter before."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def substitution(number: int) -> str:
        place = number - 1
        return "S_" if number == 0 else f"S{digits[place // 36] if place >= 36 else ''}{digits[place % 36]}_"

    return "_Z4evil1a" + "".join(f"PFv{substitution(2 * level) * 2}E" for level in range(levels))


def test_a_symbol_that_doubles_stays_mangled(tare: Tare) -> None:
    symbol = doubling(45)
    assert len(symbol) < 600
    trace = tare.record(compiled(tare.folder, symbol, "doubling"), options=("-q",))
    shutil.rmtree(tare.folder / ".t.tare.cache", ignore_errors=True)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, before[1]))  # for the command: DuckDB reserves as much
    try:
        rows = tare.sql(trace, "select distinct function from frames where function like '%evil%'")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert rows == [{"function": symbol}]
