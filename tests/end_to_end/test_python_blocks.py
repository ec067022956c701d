"""Blocks of CPython's own allocator: what tracemalloc counts is what a recording has, and no byte is counted twice."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

# Twenty lines, each with a size of its own; the last allocates by malloc, for pymalloc's largest block has 512 bytes.
SITES = 20
PROGRAM = """
import os, sys
if "traced" in sys.argv:
    import tracemalloc
    tracemalloc.start()
kept = []
""" + "\n".join(f"kept.append([bytes({39 + 32 * i}) for _ in range(3000)])" for i in range(SITES))
TRACED = """
import json
snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "<string>")])
print(json.dumps({line.traceback[0].lineno: line.size for line in snapshot.statistics("lineno")}))
"""
FIRST_LINE = 7
BYTES_HEADER = 33  # of a bytes object with its final zero


def test_sums_of_twenty_sites_are_those_of_tracemalloc(tare: Tare) -> None:
    traced = subprocess.run([sys.executable, "-c", PROGRAM + TRACED, "traced"], capture_output=True, check=True)
    expected = {int(line): size for line, size in json.loads(traced.stdout).items()}
    trace = tare.record(sys.executable, "-c", PROGRAM + "\nos._exit(0)")
    rows = tare.sql(
        trace,
        "select requested_bytes as size, sum(requested_bytes * end_blocks) as bytes from site_sizes"
        " where api in ('foreign calloc', 'calloc') group by 1",  # as bytes(n) does, and hardly anybody else
    )
    found = {row["size"]: row["bytes"] for row in rows}
    for i in range(SITES):
        size = 39 + 32 * i + BYTES_HEADER
        list_bytes = expected[FIRST_LINE + i] - 3000 * size  # of the list that holds them
        assert 0 <= list_bytes < 40_000
        assert found[size] == pytest.approx(3000 * size, rel=0.01)


def test_no_site_is_named_by_the_recorder_that_wraps_the_allocators(tare: Tare) -> None:
    trace = tare.record(sys.executable, "-c", PROGRAM)
    arenas = "select distinct stack_id as id from mappings where mapped_bytes = maps << 20"
    stacks = tare.sql(
        trace,
        f"with recursive up(id) as ({arenas} union select caller_id from stacks join up on stack_id = id)"
        " select distinct f.function from up join stacks s on s.stack_id = up.id join frames f using (location_id)",
    )
    assert {"function": "[tare]"} in stacks, "between pymalloc and its caller"
    assert tare.sql(trace, "select * from frames where function like '%libtare-record%'") == []
    named = "select * from sites join frames on location_id = site_location_id where function = '[tare]'"
    assert tare.sql(trace, named) == []


@pytest.mark.parametrize(
    "options", [(), ("--content",), ("--free-stacks",), ("--snapshots",)], ids=lambda o: " ".join(o)
)
def test_every_free_is_of_a_known_block(tare: Tare, options: tuple[str, ...]) -> None:
    program = (
        "import json, threading, re\n"
        "def work():\n"
        "    for i in range(200):\n"
        "        text = json.dumps([{'a' * j: [j] * (j % 90)} for j in range(100)])\n"
        "        json.loads(text); re.findall('a+', text); bytearray(i * 10).extend(b'x' * i)\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
    )
    report = tare.report(tare.record(sys.executable, "-c", program, options=options))
    assert report["impossible_events"] == report["dropped_events"] == 0
    assert report["events"] > 100_000


def test_samples_estimate_the_whole_heap(tare: Tare) -> None:
    program = (
        "import os\nkept = [bytes(100) for _ in range(200_000)] + [bytes(1000) for _ in range(20_000)]\nos._exit(0)"
    )
    # the sum's standard deviation is 1.8 %; at 64K it is 3.7 %, and one run in a hundred missed the limit below
    report = tare.report(tare.record(sys.executable, "-c", program, options=("--sample", "16K")))
    assert report["impossible_events"] == 0
    assert report["end"]["requested_bytes"] == pytest.approx(200_000 * 133 + 20_000 * 1033 + 2_000_000, rel=0.1)


def test_a_forked_child_frees_its_parents_objects(tare: Tare) -> None:
    program = (
        "import os\n"
        "kept = [bytes(100) for _ in range(20_000)]\n"
        "if (child := os.fork()) == 0:\n"
        "    kept = None\n"
        "    more = [bytes(60) for _ in range(10_000)]\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    trace = tare.record(sys.executable, "-c", program, name="f.tare")
    reports = [tare.report(path) for path in (trace, *tare.others("f.tare"))]
    assert len(reports) == 2
    assert [report["impossible_events"] for report in reports] == [0, 0]
    query = "select sum(end_blocks) as n from site_sizes where requested_bytes = {}"
    child = tare.others("f.tare")[0]
    assert tare.sql(child, query.format(60 + BYTES_HEADER))[0]["n"] >= 10_000


def test_most_of_a_plain_interpreter_is_blocks(tare: Tare) -> None:
    program = "import os\nkept = [[str(i), {i: i}] for i in range(100_000)]\nos._exit(0)"
    account = tare.report(tare.record(sys.executable, "-c", program, options=("--snapshots",)))["account"]
    parts = {part["name"]: part["bytes"] for part in account["parts"]}
    assert account["peak_rss_bytes"] > 40_000_000
    assert parts["blocks"] > 0.75 * account["peak_rss_bytes"]
    assert parts.get("own mappings", 0) < 0.05 * account["peak_rss_bytes"]  # pymalloc's arenas hold the blocks


def test_debug_hooks_of_the_interpreter_are_kept(tare: Tare) -> None:
    program = "kept = [bytes(i % 700) for i in range(20_000)]; print(len(kept))"
    done = tare("run", "-o", "d.tare", "--", sys.executable, "-X", "dev", "-c", program)
    assert (done.returncode, done.stdout) == (0, "20000\n")
    assert tare.report(tare.folder / "d.tare")["impossible_events"] == 0
