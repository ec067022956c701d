"""`tare fleet` on real recordings: nothing that was added is lost and nothing half added is seen, whatever happens to the adder."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tare import lenses
from tare.analysis.recording import Recording
from tare.fleet.facts import facts_of
from tare.source.core_source import CoreSource

if TYPE_CHECKING:
    from conftest import Tare

KILLS = int(os.environ.get("TARE_KILLS", "12")) // 2  # of each kind, six seconds each
TRACES = 5

# Every recording beside the sums of its rows, which other files have.
WHOLE = """
select path, key, peak_gross_bytes, s.gross, peak_tare_bytes, c.claims, c.named
from recordings r
left join (select recording, sum(peak_gross_bytes) as gross from site_sums group by recording) s using (recording)
left join (
  select recording, count(*) as claims, count(n.site) as named
  from claims left join (select distinct site from sites) n using (site) group by recording
) c using (recording) order by path
"""


@pytest.fixture(scope="module")
def traces(tare_module: Tare) -> list[Path]:
    """Recordings that differ in their size."""
    script = "i=0; while [ $i -lt {} ]; do i=$((i+1)); eval v$i=text$i; done"
    return [tare_module.record("sh", "-c", script.format(40 * n), name=f"{n}.tare") for n in range(1, TRACES + 1)]


def test_figures_by_site_are_those_by_stack(tare_module: Tare, traces: list[Path]) -> None:
    """`fleet add` adds up stacks of a site before the lenses read them, if no table names shapes."""
    program = "import json, argparse, decimal, sqlite3; x = [str(i) * 3 for i in range(3000)]; y = b''\nfor i in range(300): y += b'12'"
    environment = {"PYTHONMALLOC": "malloc"}
    python = tare_module.record(os.path.realpath(sys.executable), "-c", program, name="python.tare", env=environment)
    sampled = tare_module.record(
        os.path.realpath(sys.executable), "-c", program, options=("--sample", "4096"), name="sampled.tare", env=environment
    )  # fmt: skip
    for trace in (traces[0], python, sampled):
        source = CoreSource(str(trace))
        by_stack, by_site = (Recording(each, lenses.names_for([])) for each in (source, source.by_site()))
        one, other = facts_of(by_stack), facts_of(by_site)
        assert other.totals == one.totals
        for table, found in one.rows.items():
            assert sorted(other.rows[table]) == [
                tuple(pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for v in row) for row in sorted(found)
            ]
        shapes = "select count(*) from site_sizes"
        assert by_site.database.row(shapes) <= by_stack.database.row(shapes)
        if trace == python:
            assert 2 * by_site.database.row(shapes)[0] < by_stack.database.row(shapes)[0]


def rows(tare: Tare, store: Path) -> list[dict[str, Any]]:
    """Of the recordings that readers see; each must be whole."""
    if not (store / "store.json").exists() or not any((store / "recordings").iterdir()):
        return []
    done = tare("fleet", "sql", store, WHOLE, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    for row in found:
        assert row["gross"] == row["peak_gross_bytes"] > 0, row
        assert row["claims"] == row["named"] > 0, row
    assert len({row["key"] for row in found}) == len(found)
    return found


def undamaged(tare: Tare, store: Path) -> bool:
    return not (store / "store.json").exists() or tare("fleet", "verify", store).returncode == 0


@pytest.fixture(scope="module")
def complete(tare_module: Tare, traces: list[Path]) -> list[dict[str, Any]]:
    """The rows of a store to which nothing happened."""
    store = tare_module.folder / "complete"
    done = tare_module("fleet", "add", store, *traces)
    assert done.stdout == f"added {TRACES} of {TRACES} recordings to {store}\n", done.stderr
    return rows(tare_module, store)


@pytest.mark.parametrize("verb", ["add", "compact"])
def test_kill_minus_nine_at_a_random_time(
    tare: Tare, traces: list[Path], complete: list[dict[str, Any]], verb: str
) -> None:
    rng = random.Random(verb)
    store = tare.folder / "s"
    killed = partly = 0
    for _ in range(KILLS):
        if verb == "compact":
            tare("fleet", "add", store, *traces)
        before = rows(tare, store)
        command = [tare.command, "fleet", verb, str(store), *(map(str, traces) if verb == "add" else ())]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        entries = len(before)
        if verb == "add":  # from the second half of a recording's add to that of a later one
            while process.poll() is None and len(list(store.glob("recordings/*"))) == entries:
                time.sleep(0.001)
        time.sleep(rng.random() * 0.4)
        process.kill()
        printed = process.communicate()[0]
        after = rows(tare, store)
        assert undamaged(tare, store)
        assert [row for row in after if row in before] == before
        assert all(row in complete for row in after)
        killed += process.returncode == -signal.SIGKILL
        partly += 0 < len(after) < TRACES
        if process.returncode == 0:
            assert printed
            assert after == complete
        if verb == "compact" or after == complete:
            tare("fleet", "remove", store, "--where", "program=*")
    assert killed >= KILLS / 3
    assert partly >= KILLS / 6 or verb == "compact"
    assert tare("fleet", "add", store, *traces).returncode == 0
    assert rows(tare, store) == complete


def test_adders_a_compaction_and_a_reader_at_once(
    tare: Tare, traces: list[Path], complete: list[dict[str, Any]]
) -> None:
    store = tare.folder / "s"
    assert tare("fleet", "add", store, traces[0]).returncode == 0
    adders = [
        subprocess.Popen([tare.command, "fleet", "add", store, *each], stdout=subprocess.PIPE, text=True)
        for each in (traces, traces[::-1])
    ]
    reads = 0
    while any(adder.poll() is None for adder in adders):
        assert all(row in complete for row in rows(tare, store))
        assert tare("fleet", "compact", store).returncode == 0
        reads += 1
    assert reads > 0
    printed = [adder.communicate()[0] for adder in adders]
    assert [adder.returncode for adder in adders] == [0, 0]
    assert sum(int(text.split()[1]) for text in printed) == TRACES - 1
    assert rows(tare, store) == complete
    assert undamaged(tare, store)


@pytest.fixture
def small_disk(tare: Tare) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tare.folder / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, free: int) -> Path:
    """A file that leaves `free` bytes."""
    ballast = disk / "ballast"
    found = os.statvfs(disk)
    with ballast.open("wb") as file:
        file.write(b"x" * (found.f_bavail * found.f_frsize - free))
    return ballast


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small filesystem needs root")
def test_a_full_disk_leaves_the_store_as_it_was(
    tare: Tare, small_disk: Path, traces: list[Path], complete: list[dict[str, Any]]
) -> None:
    store = small_disk / "s"
    assert tare("fleet", "add", store, traces[0]).returncode == 0
    before = rows(tare, store)
    failed = 0
    for pages in (0, 1, 2, 4, 6, 8, 12, 16, 24):
        ballast = fill(small_disk, pages * 4096)
        done = tare("fleet", "add", store, traces[1])
        if done.returncode != 0:
            failed += 1
            assert done.returncode == 4
            assert len(done.stderr.splitlines()) == 1
            assert "the store is as before: free space, then add again" in done.stderr
            assert "added 0 of 1" in done.stdout
            assert rows(tare, store) == before
            assert list((store / "part").iterdir()) == []
            assert tare("fleet", "remove", store, traces[1]).returncode == 2
            compacted = tare("fleet", "compact", store)
            assert compacted.returncode in (0, 4), compacted.stderr
            assert rows(tare, store) == before
        else:
            assert rows(tare, store) == [row for row in complete if row["path"] in map(str, traces[:2])]
            assert tare("fleet", "remove", store, traces[1]).returncode == 0  # needs no space
        ballast.unlink()
        assert undamaged(tare, store)
    assert 2 <= failed < 9
    assert tare("fleet", "add", store, traces[1]).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small filesystem needs root")
def test_a_store_is_not_made_on_a_full_disk(tare: Tare, small_disk: Path, traces: list[Path]) -> None:
    for pages in (0, 1, 3):
        ballast = fill(small_disk, pages * 4096)
        done = tare("fleet", "add", small_disk / f"s{pages}", traces[0])
        assert done.returncode == 4
        assert done.stderr.startswith("tare: fleet: can't ")
        ballast.unlink()
        assert tare("fleet", "add", small_disk / f"s{pages}", traces[0]).returncode == 0


def load(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize("table", ["site_sums", "claims", "sites"])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_truncated_data_file_is_named_and_repaired(
    tare: Tare, traces: list[Path], complete: list[dict[str, Any]], table: str, compacted: bool
) -> None:
    store = tare.folder / "s"
    tare("fleet", "add", store, *traces)
    if compacted:
        tare("fleet", "compact", store)
    listed = json.loads(tare("fleet", "verify", store, "--json").stdout)
    assert listed["damaged"] == []
    merged = [load(each)["files"].get(table) for each in store.glob("merged/*.json")]
    file = store / next(names[0] for names in merged if names) if compacted else min(store.glob(f"table={table}/*/*"))
    truncate(file)
    done = tare("fleet", "verify", store, "--json")
    assert done.returncode == 3
    (damage,) = json.loads(done.stdout)["damaged"]
    assert damage["file"] == str(file.relative_to(store))
    assert damage["recordings"]
    assert set(damage["recordings"]) <= set(map(str, traces))
    done = tare("fleet", "sql", store, WHOLE)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert f"run tare fleet verify {store}" in done.stderr
    assert tare("fleet", "remove", store, *damage["recordings"]).returncode == 0
    assert tare("fleet", "compact", store).returncode == 0
    assert undamaged(tare, store)
    assert rows(tare, store) == [row for row in complete if row["path"] not in damage["recordings"]]
    assert tare("fleet", "add", store, *damage["recordings"]).returncode == 0
    assert rows(tare, store) == complete


def test_a_truncated_entry_is_named_and_repaired(
    tare: Tare, traces: list[Path], complete: list[dict[str, Any]]
) -> None:
    store = tare.folder / "s"
    tare("fleet", "add", store, *traces)
    tare("fleet", "compact", store)
    for folder in ("recordings", "merged"):
        file = next(iter(sorted((store / folder).iterdir())))
        truncate(file)
        name = str(file.relative_to(store))
        assert f"{file} is damaged: run tare fleet verify" in tare("fleet", "report", store).stderr
        done = tare("fleet", "verify", store, "--json")
        assert done.returncode == 3
        assert [each["file"] for each in json.loads(done.stdout)["damaged"]] == [name]
        file.unlink()  # as the reason advises
        assert undamaged(tare, store)
        assert tare("fleet", "add", store, *traces).returncode == 0
        assert rows(tare, store) == complete


def test_a_trace_that_is_cut_short(tare: Tare, traces: list[Path]) -> None:
    """Without a process it isn't added. With one it is, with a warning: the launcher of a recording may have been killed."""
    store = tare.folder / "s"
    whole = traces[0].read_bytes()
    for name, size in (("head.tare", 100), ("part.tare", len(whole) - 10)):
        (tare.folder / name).write_bytes(whole[:size])
    done = tare("fleet", "add", store, "head.tare", "part.tare", traces[1])
    assert done.returncode == 3
    assert "head.tare has no process: it was cut short" in done.stderr
    assert "part.tare has no end: the recording was cut short" in done.stderr
    assert "added 2 of 3" in done.stdout
    listed = json.loads(tare("fleet", "sql", store, "select path from recordings order by path", "--json").stdout)
    assert {row["path"] for row in listed} == {str(tare.folder / "part.tare"), str(traces[1])}
