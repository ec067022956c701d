"""Files that other profilers made here of real programs: their own totals, leaks and peaks equal the recording's to the byte."""

from __future__ import annotations

import html
import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Tare

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
PROGRAMS = {
    "sqlite3": ["sqlite3", ":memory:", "create table t(a); insert into t select value from generate_series(1, 2000); select sum(a) from t;"],
    "jq": ["jq", "-n", "[range(2000)] | map({a: ., b: (. | tostring)}) | group_by(.a % 7) | length"],
    "git": ["git", "--no-pager", "help", "-a"],
    "bash": ["bash", "-c", "for i in {1..500}; do a[i]=$i$i; done; echo ${#a[@]}"],
    "python3": ["/usr/bin/python3", "-c", "print(sum(len(str(i)) for i in range(5000)))"],
}  # fmt: skip


def needs(*commands: str) -> None:
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"{command} isn't installed")


def sums(tare: Tare, source: Path) -> dict[str, int]:
    assert (done := tare("import", source, "-o", "imported.tare")).returncode == 0, done.stderr
    names = [f"{when}_{what}" for when in ("total", "peak", "end") for what in ("blocks", "requested_bytes")]
    (row,) = tare.sql(
        tare.folder / "imported.tare", f"select {', '.join(names)}, impossible_events, pre_existing_frees from process"
    )
    assert row.pop("impossible_events") == 0
    assert row.pop("pre_existing_frees") in (0, None)
    return {name: int(value) for name, value in row.items()}


def heaptrack_costs(file: Path, kind: str) -> int:
    """The sums of heaptrack_print's lines for flame graphs. Suppressed leaks are leaks, too."""
    out = file.with_suffix(f".{kind}")
    options = ["--disable-builtin-suppressions", "--disable-embedded-suppressions"]
    command = ["heaptrack_print", *options, "--flamegraph-cost-type", kind, "-F", str(out), "-f", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return sum(int(line.rpartition(" ")[2]) for line in out.read_text(errors="replace").splitlines())


STARTS = ("_start", "__libc_start_main_impl", "__libc_start_call_main")


def flame_graph(file: Path) -> dict[tuple[str, ...], int]:
    """Bytes of each stack of folded lines, without places and numbers of addresses. Frames are sorted: heaptrack prints inlined functions
    outside of those that they were inlined into, and it begins stacks with main.
    """
    stacks: dict[tuple[str, ...], int] = {}
    for line in file.read_text(errors="replace").splitlines():
        text, _, amount = line.rpartition(" ")
        names = [re.sub(r" \([^()]*\)$", "", name.strip()) for name in text.split(";") if name.strip()]
        names = ["" if re.search(r"0x[0-9a-f]+$", name) else name for name in names]
        names = names[names.index("main") :] if "main" in names else names
        key = tuple(sorted(name for name in names if name not in STARTS))
        if int(amount):
            stacks[key] = stacks.get(key, 0) + int(amount)
    return stacks


OFTEN = ("bash", "python3")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.nightly) for name in PROGRAMS]
)
def test_heaptrack(name: str, tare: Tare) -> None:
    needs("heaptrack", "heaptrack_print", PROGRAMS[name][0])
    raw = tare.folder / "app"
    subprocess.run(["heaptrack", "--raw", "-o", raw, *PROGRAMS[name]], check=True, capture_output=True)
    (raw,) = tare.folder.glob("app*.zst")
    interpreted = tare.folder / "interpreted"
    interpreter = next((path for path in Path("/usr/lib").glob("**/heaptrack_interpret")), None)
    if interpreter is None:
        pytest.skip("heaptrack_interpret isn't where it is on Debian")
    text = subprocess.run(["zstdcat", raw], check=True, capture_output=True).stdout
    interpreted.write_bytes(subprocess.run([interpreter], input=text, check=True, capture_output=True).stdout)

    expected = {kind: heaptrack_costs(interpreted, kind) for kind in ("allocations", "peak", "leaked")}
    assert expected["allocations"] > 100
    found = sums(tare, interpreted)
    assert found == sums(tare, raw)  # which has addresses instead of names
    assert (found["total_blocks"], found["peak_requested_bytes"], found["end_requested_bytes"]) == tuple(
        expected.values()
    )
    # The last import was of raw; the flame graphs are of the interpreted file.
    assert sums(tare, interpreted) == found
    assert tare("export", "imported.tare", "--to", "folded", "-o", "ours").returncode == 0
    ours, theirs = flame_graph(tare.folder / "ours"), flame_graph(interpreted.with_suffix(".peak"))
    assert sum(ours.values()) == sum(theirs.values())
    if name != "python3":  # Tare leaves out functions that only pass a call on to malloc, as PyMem_RawMalloc does
        assert ours == theirs
    assert tare("replay", "imported.tare", "--allocator", "glibc", "--runs", "1").returncode == 0


@pytest.fixture
def app(program: Callable[..., Path]) -> Path:
    return program("clownshoes.c")


def test_dhat_and_massif(tare: Tare, app: Path) -> None:
    needs("valgrind")
    done = subprocess.run(
        ["valgrind", "--tool=dhat", f"--dhat-out-file={tare.folder}/dhat", app],
        check=True,
        capture_output=True,
        text=True,
    )
    expected = []
    for line in ("Total:", "At t-gmax:", "At t-end:"):
        found = re.search(rf"{line}\s+([\d,]+) bytes in ([\d,]+) blocks", done.stderr)
        assert found is not None
        expected += [int(found[2].replace(",", "")), int(found[1].replace(",", ""))]
    assert list(sums(tare, tare.folder / "dhat").values()) == expected
    names = [
        "valgrind",
        "--tool=massif",
        "--threshold=0",
        "--detailed-freq=1",
        f"--massif-out-file={tare.folder}/massif",
        app,
    ]
    subprocess.run(names, check=True, capture_output=True)
    text = (tare.folder / "massif").read_text()
    peak = next(part for part in text.split("snapshot=") if "heap_tree=peak" in part)
    heap = int(re.search(r"mem_heap_B=(\d+)", peak)[1])  # type: ignore[index]
    assert sums(tare, tare.folder / "massif")["peak_requested_bytes"] == heap


def test_jemalloc_and_tcmalloc(tare: Tare, app: Path) -> None:
    jemalloc, tcmalloc = LIBRARIES / "libjemalloc.so.2", LIBRARIES / "libtcmalloc.so.4"
    if not (jemalloc.exists() and tcmalloc.exists()):
        pytest.skip("libjemalloc2 or libgoogle-perftools4 isn't installed")
    settings = f"prof:true,lg_prof_sample:0,prof_final:true,prof_accum:true,prof_prefix:{tare.folder}/je"
    subprocess.run([app], check=True, capture_output=True, env={"LD_PRELOAD": str(jemalloc), "MALLOC_CONF": settings})
    (heap,) = tare.folder.glob("je*.heap")
    whole = re.search(r"t\*: (\d+): (\d+) \[(\d+): (\d+)\]", heap.read_text())
    assert whole is not None
    found = sums(tare, heap)
    keys = ("end_blocks", "end_requested_bytes", "total_blocks", "total_requested_bytes")
    assert [found[key] for key in keys] == [int(each) for each in whole.groups()]
    names = tare.sql(tare.folder / "imported.tare", "select distinct function from frames where function = 'main'")
    assert names, "the program's own functions have names"

    subprocess.run(
        [app], check=True, capture_output=True, env={"LD_PRELOAD": str(tcmalloc), "HEAPPROFILE": f"{tare.folder}/tc"}
    )
    heap = sorted(tare.folder.glob("tc*.heap"))[-1]
    whole = re.match(r"heap profile:\s*(\d+):\s*(\d+)\s*\[\s*(\d+):\s*(\d+)\]", heap.read_text())
    assert whole is not None
    found = sums(tare, heap)
    assert [found[key] for key in keys] == [int(each) for each in whole.groups()]


_GO = """
package main
import ("os"; "runtime"; "runtime/pprof")
var keep [][]byte
func hold() { for i := 0; i < 100; i++ { keep = append(keep, make([]byte, 1000)) } }
func main() {
  runtime.MemProfileRate = 1
  hold()
  for i := 0; i < 500; i++ { _ = append([]byte(nil), make([]byte, 64+i)...) }
  runtime.GC()
  f, _ := os.Create(os.Args[1])
  pprof.Lookup("allocs").WriteTo(f, 0)
  f.Close()
  runtime.KeepAlive(keep)
}
"""


@pytest.mark.nightly
def test_go(tare: Tare) -> None:
    needs("go")
    (tare.folder / "main.go").write_text(_GO)
    environment = {
        "HOME": str(tare.folder),
        "PATH": f"{Path(shutil.which('go') or '').parent}:/usr/bin:/bin",
        "GOFLAGS": "-mod=mod",
    }
    profile = tare.folder / "heap.pb.gz"
    subprocess.run(["go", "run", "main.go", profile], check=True, capture_output=True, cwd=tare.folder, env=environment)
    found = sums(tare, profile)
    for key, index in (
        ("total_blocks", "alloc_objects"), ("total_requested_bytes", "alloc_space"),
        ("end_blocks", "inuse_objects"), ("end_requested_bytes", "inuse_space"),
    ):  # fmt: skip
        command = ["go", "tool", "pprof", "-raw", f"-sample_index={index}", str(profile)]
        raw = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        types = re.search(r"Samples:\n(.*)\n", raw)
        assert types is not None
        column = [each.partition("/")[0] for each in types[1].replace("[dflt]", "").split()].index(index)
        rows = re.findall(r"^ *((?:\d+ +)+\d+):", raw.partition("Samples:")[2].partition("Locations")[0], re.MULTILINE)
        assert sum(int(row.split()[column]) for row in rows) == found[key]
    functions = json.loads(tare("sql", "imported.tare", "select distinct function from frames", "--json").stdout)
    assert {"function": "main.hold"} in functions


MEMRAY_PROGRAMS = {
    "objects": "kept = [bytearray(1000 + i) for i in range(500)]\nfor i in range(2000): bytearray(5000 + i)\ndel kept[100:]\n",
    "json": "import json\nrows = [json.dumps({'id': i, 'text': 'x' * 600}) for i in range(3000)]\n",
    "threads": "import threading\ndef work():\n  kept = [bytes(2000 + i) for i in range(300)]\n"
    "ts = [threading.Thread(target=work) for _ in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]\n",
}


@pytest.mark.parametrize("options", [(), ("--native",)])
@pytest.mark.parametrize("name", MEMRAY_PROGRAMS)
def test_memray(name: str, options: tuple[str, ...], tare: Tare) -> None:
    if importlib.util.find_spec("memray") is None:
        pytest.skip("memray isn't installed")
    if importlib.metadata.version("memray") != "1.20.0":
        pytest.skip("another version of memray has another format")
    (tare.folder / "program.py").write_text(MEMRAY_PROGRAMS[name])
    memray = [sys.executable, "-m", "memray"]
    subprocess.run(
        [*memray, "run", "-q", *options, "-o", "capture", "program.py"],
        cwd=tare.folder,
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [*memray, "stats", "--json", "-o", "stats", "capture"], cwd=tare.folder, check=True, capture_output=True
    )
    stats = json.loads((tare.folder / "stats").read_text())
    found = sums(tare, tare.folder / "capture")
    assert found["peak_requested_bytes"] == stats["metadata"]["peak_memory"]
    assert found["total_blocks"] == stats["total_num_allocations"]
    assert found["total_requested_bytes"] == stats["total_bytes_allocated"]
    query = (
        "select any_value(f.function) as function, max(f.file) as file, max(f.line) as line, sum(z.requested_bytes * z.total_blocks) as bytes"
        " from site_sizes z join stacks s using (stack_id) join frames f on f.location_id = s.location_id and f.inline_depth = 0"
        " group by f.function, f.file, f.line order by bytes desc limit 1"
    )
    (largest,) = tare.sql(tare.folder / "imported.tare", query)
    expected = stats["top_allocations_by_size"][0]
    assert f"{largest['function']}:{largest['file']}:{largest['line']}" == expected["location"]
    assert largest["bytes"] == expected["size"]
    if not options:  # of native captures, memray's tables and graphs begin at functions in C
        assert python_lines(tare) == memray_table(tare, memray)
        assert tare("export", "imported.tare", "--to", "folded", "-o", "ours").returncode == 0
        ours = flame_graph(tare.folder / "ours")
        ours = {tuple(name for name in names if name != "(unknown)"): size for names, size in ours.items()}
        assert ours == memray_flame_graph(tare, memray)


def packed_data(tare: Tare, memray: list[str], report: str) -> Any:
    run = [*memray, report, "--no-web", "-o", report, "capture"]
    subprocess.run(run, cwd=tare.folder, check=True, capture_output=True)
    page = (tare.folder / report).read_text()
    return json.JSONDecoder().raw_decode(page, page.index("packed_data = ") + len("packed_data = "))[0]


def memray_table(tare: Tare, memray: list[str]) -> dict[str, tuple[int, int]]:
    """Blocks and bytes at the peak of each line of Python."""
    lines: dict[str, tuple[int, int]] = {}
    for row in packed_data(tare, memray, "table"):
        blocks, size = lines.get(line := html.unescape(row["stack_trace"]), (0, 0))
        lines[line] = (blocks + row["n_allocations"], size + row["size"])
    return lines


def python_lines(tare: Tare) -> dict[str, tuple[int, int]]:
    query = (
        "select f.function || ' at ' || f.file || ':' || f.line as place, sum(z.peak_blocks) as blocks, sum(z.requested_bytes * z.peak_blocks) as bytes"
        " from site_sizes z left join stacks s using (stack_id) left join frames f on f.location_id = s.location_id and f.inline_depth = 0 and s.depth > 0"
        " where z.peak_blocks > 0 group by place"
    )
    rows = tare.sql(tare.folder / "imported.tare", query)
    return {row["place"] or "???": (int(row["blocks"]), int(row["bytes"])) for row in rows}


def memray_flame_graph(tare: Tare, memray: list[str]) -> dict[tuple[str, ...], int]:
    data = packed_data(tare, memray, "flamegraph")
    nodes, strings = data["nodes"], data["strings"]
    stacks: dict[tuple[str, ...], int] = {}
    todo: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for node, names in todo:
        children = nodes["children"][node]
        own = nodes["value"][node] - sum(nodes["value"][child] for child in children)
        if own:
            key = tuple(sorted(names))
            stacks[key] = stacks.get(key, 0) + own
        todo += [(child, (*names, html.unescape(strings[nodes["function"][child]]))) for child in children]
    return stacks
