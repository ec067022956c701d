"""Descriptions of allocators: the shipped ones fit their table, and every mistake is one line."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tare.allocators import prepared, table
from tare.allocators.description import parse
from tare.errors import TareError

HEADER = Path(__file__).resolve().parents[3] / "src/trace/spool/allocator_table.h"
GOOD = """
name = "mine"
prefixes = ["a_", "b_"]
[functions]
get = { does = "allocate", count = 1, size = 0, zeroed = true }
put = { does = "free", pointer = 2 }
"""


def test_shipped_descriptions_fit_the_table() -> None:
    shipped = table.shipped()
    assert {each.name for each in shipped} == {"apr", "jemalloc", "malloc", "mimalloc", "nginx", "postgres", "tcmalloc"}
    assert shipped[0].module == "malloc"  # its functions have other names in other descriptions
    header = HEADER.read_text()
    for name, value in (("kMostForeignAllocators", 32), ("kMostForeignFunctions", 320), ("kAllocatorsVersion", 2)):
        assert re.search(rf"{name} = {value};", header)
    assert len(table.packed(shipped)) == 24 + 32 * 168 + 320 * 80


def test_a_description_is_repeated_for_each_prefix() -> None:
    first, second = parse(GOOD, "f", required=True)
    assert [each.symbol for each in first.functions] == ["a_get", "a_put"]
    assert [each.symbol for each in second.functions] == ["b_get", "b_put"]
    assert first.functions[0].arguments == {"count": 1, "size": 0}
    assert first.functions[0].zeroed


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("name =", "name", "f: not TOML: "),
        ('name = "mine"', "", "f: name needs a text of 1 to 31 bytes"),
        ('"mine"', '"' + "x" * 32 + '"', "f: name needs a text of 1 to 31 bytes"),
        ("name", "nam", "f: unknown key 'nam': there are name, in, prefixes, current and functions"),
        ('["a_", "b_"]', "3", 'f: prefixes needs a list of texts, such as ["je_", "_rjem_"]'),
        ("[functions]", "[function]", "f: unknown key 'function'"),
        ('"free"', '"allocate", size = 1', "f: function put: 'allocate' has no argument 'pointer'"),
        (", pointer = 2 }", " }", "f: function put: 'free' needs the number of argument 'pointer'"),
        ("pointer = 2", "pointer = 6", "f: function put: pointer needs the number of an argument, 0 to 5: 6"),
        ("pointer = 2", "pointer = true", "f: function put: pointer needs the number of an argument, 0 to 5: True"),
        ("count = 1", "count = 0", "f: function get: two arguments have the same number"),
        ('"allocate"', '"alocate"', "f: function get: 'does' needs one of: allocate, allocate into, free, resize"),
        ("zeroed = true", "zeroed = 1", "f: function get: zeroed is true or false"),
        ("put", "x" * 62, "f: a function's name has 1 to 63 bytes: 'a_xxx"),
        (
            'get = { does = "allocate"',
            'get = { does = "usable bytes"',
            "f: function get: 'usable bytes' has no argument",
        ),
    ],
)
def test_a_mistake_is_one_line(old: str, new: str, line: str) -> None:
    with pytest.raises(TareError) as error:
        parse(GOOD.replace(old, new, 1), "f", required=True)
    assert error.value.message.startswith(line)
    assert "\n" not in error.value.message


def test_a_description_without_free_is_refused() -> None:
    text = GOOD.replace('put = { does = "free", pointer = 2 }', "")
    with pytest.raises(TareError, match="needs one that allocates and one that frees"):
        parse(text, "f", required=True)


POOLS = """
name = "pools"
current = "now"
[functions]
create = { does = "create pool", pointer = 0, parent = 1 }
destroy = { does = "destroy pool", pool = 0 }
get = { does = "allocate", pool = 0, size = 1 }
text = { does = "allocate", pool = 0, size = "string" }
here = { does = "allocate", size = 0 }
"""


def test_a_description_of_pools_needs_no_free() -> None:
    (pools,) = parse(POOLS, "f", required=True)
    assert pools.current == "now"
    assert [each.arguments for each in pools.functions] == [
        {"pointer": 0, "parent": 1}, {"pool": 0}, {"pool": 0, "size": 1}, {"pool": 0, "size": -2}, {"size": 0}]  # fmt: skip
    assert len(table.packed([pools])) == len(table.packed(table.shipped()))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"create pool", pointer = 0, parent = 1', '"allocate"', "f: [functions] needs one that creates pools"),
        ('"now"', '""', "f: current needs a text of 1 to 63 bytes"),
        (
            '"destroy pool", pool = 0',
            '"destroy pool"',
            "f: function destroy: 'destroy pool' needs the number of argument",
        ),
        ("pool = 0, size = 1", "pool = 0, size = 0", "f: function get: two arguments have the same number"),
        (
            '"destroy pool", pool = 0',
            '"free", pointer = 0, pool = 1',
            "f: function destroy: 'free' has no argument 'pool'",
        ),
        (
            'pool = 0, size = "string"',
            'pool = "string", size = 0',
            "f: function text: pool needs the number of an argument",
        ),
        ('size = "string"', 'size = "text"', "f: function text: size needs the number of an argument, 0 to 5: text"),
    ],
)
def test_a_mistake_about_pools_is_one_line(old: str, new: str, line: str) -> None:
    with pytest.raises(TareError) as error:
        parse(POOLS.replace(old, new, 1), "f", required=True)
    assert error.value.message.startswith(line)


def test_a_pool_that_nothing_creates_is_a_mistake() -> None:
    with pytest.raises(TareError, match="those that create and destroy pools"):
        parse(GOOD.replace("count = 1", "pool = 1"), "f", required=True)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TareError, match="can't read the description"):
        table.given(str(tmp_path / "none.toml"))


def test_the_prepared_table_is_that_of_the_descriptions() -> None:
    assert prepared.table() == table.packed(table.shipped()), (
        "run: PYTHONPATH=python .venv/bin/python tools/prepared_allocators.py"
    )


# Pieces that a mutation puts anywhere: what TOML means something by, other types than expected, numbers out of range.
PIECES = ['"', "'", "=", "[", "]", "{", "}", ",", "\n", ".", "-1", "6", "true", "1e9", "\x00", "\\ud800", "does", "in", "name",
          '"a\\nb" = 1\n', '"a\\nb" = { does = "free" }\n', "prefixes = 5\n", "[functions.get]\n", "[[functions]]\n", '"""', "\u00e9" * 40, "x" * 70, "nan", "0x", "1979-05-27"]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_any_text_is_a_description_or_a_mistake(seed: int) -> None:
    random = Random(seed)
    refused = 0
    for _ in range(100):
        text = GOOD
        for _ in range(random.randint(1, 4)):
            start = random.randint(0, len(text))
            end = min(len(text), start + random.choice((0, 0, 1, 5, 30)))
            text = text[:start] + random.choice(PIECES) + text[end:]
        try:
            assert table.packed(parse(text, "f", required=True))
        except TareError as error:
            refused += 1
            assert error.message.startswith("f: ") and "\n" not in error.message, text
    assert refused > 20
