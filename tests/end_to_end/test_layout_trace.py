"""`tare layout --trace` and the lens padding: types found in recordings by how blocks were allocated, weighed by live counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tare


PYTHON = Path("/usr/bin/python3.11")  # Debian's, whose debug files may be installed


@pytest.fixture
def trace(tare: Tare, program: Callable[..., Path]) -> Path:
    return tare.record(program("typed_blocks.cc"))


def weighed(tare: Tare, trace: Path) -> dict[str, dict[str, Any]]:
    done = tare("layout", "--trace", trace, "--json")
    assert done.returncode == 0, done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["types"]}


def test_types_are_told_and_weighed(tare: Tare, trace: Path) -> None:
    types = weighed(tare, trace)
    # glibc's blocks: 40 bytes take 48, 24 take 32; a list's node has 16 more
    gapped, many, alone = types["Gapped"], types["Many"], types["Alone"]
    assert (gapped["objects_peak"], gapped["saved_bytes_peak"], gapped["certainty"]) == (10_000, 160_000, "medium")
    listed = types["Listed"]
    assert (listed["objects_peak"], listed["saved_bytes_peak"], listed["certainty"]) == (5_000, 80_000, "medium")
    # one block of 20,000 objects
    assert (many["objects_peak"], many["certainty"]) == (20_000, "high")
    assert many["saved_bytes_peak"] == pytest.approx(20_000 * 8, abs=4096)
    # malloc(sizeof(Alone)) without a variable: the line of source names it
    assert (alone["objects_peak"], alone["certainty"]) == (3_000, "medium")
    assert alone["saved_bytes_peak"] == 3_000 * 16


def test_a_type_before_a_trailing_array_is_told(tare: Tare, program: Callable[..., Path]) -> None:
    types = weighed(tare, tare.record(program("trailing_arrays.c")))
    flexible = types["flexible"]
    # glibc's blocks: 32 + 32 bytes take 80, and 24 + 32 take 64
    assert (flexible["objects_peak"], flexible["certainty"]) == (4_000, "medium")
    assert "hacked" not in types  # its last array continues behind the type
    assert flexible["saved_bytes_peak"] == 4_000 * 16


def test_the_lens_says_the_order_and_how_sure_it_is(tare: Tare, trace: Path) -> None:
    report = tare.report(trace, "--lens", "padding")
    found = {finding["function"]: finding for finding in report["findings"] if finding["lens"] == "padding"}
    (keep_one,) = (finding for function, finding in found.items() if "keep_one" in function)
    assert keep_one["bytes_peak"] == 160_000
    assert keep_one["confidence"] == "medium"
    assert "fourth, second, first, third, fifth" in keep_one["remedy"]
    # potential: gross is net and tare still, to the byte
    peak = report["peak"]
    assert peak["gross_bytes"] == peak["net_bytes"] + peak["tare_bytes"]


def test_without_debug_information_nothing_is_said(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("typed_blocks.cc", "-g0"))
    assert weighed(tare, trace) == {}
    report = tare.report(trace, "--lens", "padding")
    assert not [finding for finding in report["findings"] if finding["lens"] == "padding"]


@pytest.mark.skipif(not PYTHON.exists(), reason="no python3.11 of the system's")
def test_on_a_real_program_nothing_is_more_than_its_blocks(tare: Tare) -> None:
    work = "import ast, argparse; kept = [ast.parse(open(argparse.__file__).read()) for _ in range(2)]"
    trace = tare.record(PYTHON, "-c", work, env={"PYTHONMALLOC": "malloc"})
    for each in weighed(tare, trace).values():
        gross = each["gross_bytes_peak"]
        assert each["objects_peak"] * each["size_bytes"] <= gross, each
        assert 0 <= each["saved_bytes_peak"] <= gross, each
        assert 0 <= each["narrow_saved_bytes_peak"] <= each["narrow_reordered_saved_bytes_peak"] <= gross, each
        assert each["certainty"] in ("high", "medium", "low")
    report = tare.report(trace)
    assert "padding" in report["lenses_run"]
    assert report["peak"]["gross_bytes"] == report["peak"]["net_bytes"] + report["peak"]["tare_bytes"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_table_fits(tare: Tare, trace: Path, columns: int) -> None:
    done = tare("layout", "--trace", trace, env={"COLUMNS": str(columns)})
    assert done.returncode == 0, done.stderr
    assert "Gapped" in done.stdout
    assert all(len(line) <= columns for line in done.stdout.splitlines()), done.stdout


def test_tables_of_virtual_functions_are_counted(tare: Tare, program: Callable[..., Path]) -> None:
    binary = program("virtual_tables.cc")
    (told,) = json.loads(tare("layout", binary, "--json").stdout)["binaries"]
    tables = told["vtables"]
    assert tables["names"] == "symbols"
    # Shape: two words before, two destructors and area; Circle alike
    assert (tables["tables"]["count"], tables["tables"]["bytes"]) == (2, 2 * 5 * 8)
    assert "Relative tables would save" in " ".join(tare("layout", binary).stdout.split())
