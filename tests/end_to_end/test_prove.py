"""tare prove: remedies of planted waste return what is known of them, and what can't be performed is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tare


JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")

# Of each planted waste: the lens, how to record, the function, blocks that its remedy is about, the change of the peak RSS in bytes as
# glibc's chunk sizes give it, and how many calls fewer there are.
WASTES = (
    ("nodes", "headers", (), "make_node", 200_000, -8 * 200_000, None),
    ("temporaries", "churn", (), "format", 50_000, 0, -100_000),
    ("growth", "growth", (), "grow", 2000 - 1, None, -1988),
    ("growth by hand", "growth", (), "grow_by_hand", 2000, None, -3976),
    ("records", "unwritten", ("--content",), "make_record", 5000, (112 - 1008) * 5000, 0),
    ("buffers", "headroom", ("--content",), "make_buffer", 5000, (288 - 528) * 5000, 0),
    ("texts", "duplicates", ("--snapshots",), "copy_text", 5000, -208 * 4980, -4980),
    ("leaks", "leaks", ("--snapshots",), "copy_text", 5000, -208 * 4999, 4999),
    ("padding", "padding", (), "make_padded", 50_000, (32 - 48) * 50_000, 0),
    ("knots", "wide-pointers", ("--snapshots",), "make_knot", 50_000, (32 - 48) * 50_000, 0),
    ("pairs", "twins", (), "make_handle", 10_000, (64 - 32 - 48) * 5000, -10_000),
)
# Slabs are partly used, and memory comes in pages: huge ones where the system wants so.
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
BYTES_OFF = 4 << 20 if THP.exists() and "[always]" in THP.read_text() else 12 * 4096


@pytest.mark.parametrize("waste", WASTES, ids=lambda waste: waste[0].replace(" ", "-"))
def test_remedies_of_planted_waste_return_what_it_is(
    tare: Tare, program: Callable[..., Path], waste: tuple[Any, ...]
) -> None:
    what, lens, options, function, blocks, peak_change, fewer_calls = waste
    trace = tare.record(program("remedies.c"), what, options=options)
    done = tare("prove", trace, "--lens", lens, "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (finding,) = told["findings"]
    assert (finding["function"], finding["not_performed"], told["together"]) == (function, None, None)
    proof = finding["proof"]
    assert proof["rewritten_blocks"] == blocks
    if fewer_calls is not None:
        assert proof["calls"]["change"] == fewer_calls
    if peak_change is not None:
        assert proof["peak_rss_bytes"]["change"] == pytest.approx(peak_change, abs=BYTES_OFF)
    assert proof["failed_calls"] == 0


def test_copies_by_hand_are_counted(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "growth by hand")
    (finding,) = json.loads(tare("prove", trace, "--lens", "growth", "--runs", "1", "--json").stdout)["findings"]
    copied = finding["proof"]["copied_bytes"]
    assert copied["before"] == 16 * 1999 * 2000 // 2
    assert copied["after"] == 16 * sum(2**n for n in range(11))  # at 16, 32, ... 16,384 bytes


def test_the_numbers_are_those_of_the_list(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nodes")
    every = json.loads(tare("prove", trace, "--all", "--runs", "1", "--json").stdout)["findings"]
    for each in every:
        done = tare("prove", trace, "--finding", str(each["number"]), "--runs", "1")
        if each["not_performed"]:
            assert done.returncode == 2
            assert each["not_performed"] in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            assert f"finding {each['number']}: {each['lens']} at {each['function']}" in done.stdout
    beyond = tare("prove", trace, "--finding", str(len(every) + 1))
    assert beyond.returncode == 2
    assert f"no finding {len(every) + 1}" in beyond.stderr


def test_the_text_fits(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nodes")
    for columns in (60, 80, 120):
        done = tare("prove", trace, "--runs", "1", env={"COLUMNS": str(columns)})
        assert done.returncode == 0, done.stderr
        assert all(len(line) <= columns for line in done.stdout.splitlines()), done.stdout


def test_a_program_without_findings_has_nothing_to_prove(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nothing")
    done = tare("prove", trace)
    assert done.returncode == 0, done.stderr
    assert "no findings" in done.stdout


def test_a_sampled_recording_is_refused(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nodes", options=("--sample", "4K"))
    done = tare("prove", trace)
    assert done.returncode == 2
    assert "sampled" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not JEMALLOC.exists(), reason="libjemalloc2 isn't installed")
def test_the_programs_own_allocator_performs(tare: Tare, program: Callable[..., Path], tmp_path: Path) -> None:
    library = tmp_path / "libjemalloc.so.2"
    shutil.copy(JEMALLOC.resolve(), library)
    trace = tmp_path / "t.tare"
    preload = {"LD_PRELOAD": str(library)}
    done = tare("run", "-o", trace, "--", program("remedies.c"), "temporaries", env=preload)
    assert done.returncode == 0, done.stderr
    proven = json.loads(tare("prove", trace, "--lens", "churn", "--runs", "1", "--json").stdout)
    assert proven["allocator"] == "jemalloc"
    assert proven["findings"][0]["proof"]["calls"]["change"] == -100_000
    library.unlink()
    gone = tare("prove", trace, "--lens", "churn", "--runs", "1")
    assert gone.returncode == 4
    assert str(library) in gone.stderr
    assert gone.stderr.count("\n") == 1


def test_scripts_of_several_walks_equal_each_alone(tare: Tare, program: Callable[..., Path], tmp_path: Path) -> None:
    """A walk over the events writes four scripts."""
    from tare import _core

    trace = tare.record(program("remedies.c"), "nodes")
    paths = [str(tmp_path / str(number)) for number in range(9)]
    progress: list[tuple[int, int]] = []
    facts, _ = _core.write_call_scripts(str(trace), [(path, []) for path in paths], lambda *done: progress.append(done))
    assert len(facts) == len(paths)
    alone = tmp_path / "alone"
    (of_one,), _ = _core.write_call_scripts(str(trace), [(str(alone), [])], lambda *_: None)
    for path, each in zip(paths, facts, strict=True):
        assert each == of_one
        assert Path(path).read_bytes() == alone.read_bytes()
    assert progress == sorted(progress)
