"""Each export is opened by the tool that it is for: the tool's total is that of `tare sql`, and another one if the file is damaged."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import viewers
from conftest import Tare


@pytest.fixture(scope="module")
def trace(tare_module: Tare, program: Callable[..., Path]) -> Path:
    return tare_module.record(program("exported.cc"), options=("--content",))


def total(tare: Tare, trace: Path, column: str, gross: str = " * (usable_bytes + header_bytes)") -> int:
    (row,) = tare.sql(trace, f"select cast(sum({column}{gross}) as bigint) as total from site_sizes")
    return int(row["total"])


def exported(tare: Tare, trace: Path, to: str, *options: str, name: str = "out") -> Path:
    path = tare.folder / f"{name}.{to}"
    done = tare("export", trace, "--to", to, *options, "-o", path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return path


class Case(NamedTuple):
    to: str
    read: Callable[[Path, str], int]
    measure: str


CASES = {
    "go tool pprof": Case("pprof", viewers.of_pprof, "alloc_space"),
    "go tool pprof, blocks": Case("pprof", viewers.of_pprof, "inuse_objects"),
    "protobuf": Case("pprof", viewers.of_protobuf, "inuse_space"),
    "opentelemetry": Case("otlp", viewers.of_otlp, "alloc_space"),
    "profiler-cli": Case("firefox", viewers.of_firefox, "inuse_space"),
    "dh_view.html": Case("dhat", viewers.of_dhat, "alloc_space"),
    "dh_view.html, peak": Case("dhat", viewers.of_dhat, "inuse_space"),
    "speedscope": Case("speedscope", viewers.of_speedscope, "alloc_space"),
    "speedscope, peak": Case("speedscope", viewers.of_speedscope, "inuse_space"),
    "ms_print": Case("massif", viewers.of_massif, "inuse_space"),
    "flamegraph.pl": Case("folded", viewers.of_folded, "inuse_space"),
    "V8": Case("heapprofile", viewers.of_heapprofile, "inuse_space"),
}


def expected(tare: Tare, trace: Path, case: Case) -> int:
    blocks = "total_blocks" if case.measure.startswith("alloc") else "peak_blocks"
    return total(tare, trace, blocks, *([""] if case.measure.endswith("objects") else []))


def damaged(path: Path, to: str, measure: str) -> Path:
    """One number of the file is greater by one."""
    other = path.with_name(f"damaged.{to}")
    if to in ("pprof", "otlp"):
        _damage_message(path, other, to, measure)
        return other
    text = path.read_text()
    keys = {
        "firefox": '"weight":[',
        "folded": " ",
        "heapprofile": '"selfSize":',
        "massif": "mem_heap_B=",
        "speedscope": '"weights":[',
    }
    if to == "dhat":
        keys["dhat"] = {"alloc_space": '"tb":', "inuse_space": '"gb":'}[measure]
    start = 0
    if to == "massif":
        start = text.index("heap_tree=peak") - 200
    elif to == "speedscope":
        start = text.index('"weights":[', text.index(f": {measure}"))
    pattern = re.compile(rf"{re.escape(keys[to])}(\d+)")
    found = next(each for each in pattern.finditer(text, start) if int(each[1]) > 0)
    if to == "massif":
        found = list(pattern.finditer(text, 0, text.index("heap_tree=peak")))[-1]
    end = found.end(1)
    other.write_text(f"{text[: found.start(1)]}{int(found[1]) + 1}{text[end:]}")
    return other


def _damage_message(path: Path, other: Path, to: str, measure: str) -> None:
    if to == "pprof":
        profile = viewers.profile_message()
        profile.ParseFromString(gzip.decompress(path.read_bytes()))
        names = [profile.string_table[each.type] for each in profile.sample_type]
        profile.sample[0].value[names.index(measure)] += 1
        other.write_bytes(gzip.compress(profile.SerializeToString()))
        return
    data = viewers.needs_python("opentelemetry.proto.profiles.v1development.profiles_pb2").ProfilesData()
    data.ParseFromString(path.read_bytes())
    for profile in data.resource_profiles[0].scope_profiles[0].profiles:
        profile.samples[0].values[0] += 1
    other.write_bytes(data.SerializeToString())


@pytest.mark.parametrize("name", CASES)
def test_the_tool_has_tares_total(name: str, tare_module: Tare, trace: Path) -> None:
    case = CASES[name]
    value = expected(tare_module, trace, case)
    path = exported(tare_module, trace, case.to, name=re.sub(r"\W+", "-", name))
    assert case.read(path, case.measure) == value
    assert case.read(damaged(path, case.to, case.measure), case.measure) != value


def test_pprof_has_names_build_ids_inlined_functions_and_labels(tare_module: Tare, trace: Path) -> None:
    path = exported(tare_module, trace, "pprof", name="whole")
    raw = viewers.go_tool(path, "-raw")
    (exe,) = tare_module.sql(trace, "select exe from process")
    (module,) = tare_module.sql(trace, f"select build_id from modules where path = '{exe['exe']}' limit 1")
    assert re.search(
        rf"^\d+: .*{re.escape(exe['exe'])} {module['build_id']} \[FN\]\[FL\]\[LN\]\[IN\]", raw, re.MULTILINE
    )
    # One location with both functions: the inlined one, and the one that it was inlined into.
    inlined = r"inlined_allocation \S*exported\.cc:10:.*\n\s+\(anonymous namespace\)::few_bytes\(\) \S*exported\.cc:13:"
    assert re.search(inlined, raw)
    assert "bytes:[104 bytes]" in raw


def test_pprof_compares_two_recordings(tare_module: Tare, program: Callable[..., Path], trace: Path) -> None:
    path = exported(tare_module, trace, "pprof", name="one")
    other = exported(tare_module, tare_module.record(program("two_threads.cc"), name="o.tare"), "pprof", name="other")
    assert "accounting for 0, 0%" in viewers.go_tool(path, "-top", f"-diff_base={path}")
    difference = viewers.go_tool(path, "-top", "-sample_index=alloc_space", f"-diff_base={other}", "-trim=false")
    values = re.findall(r"^ *(-?\d+)B? ", difference, re.MULTILINE)
    sizes = [total(tare_module, each, "total_blocks") for each in (trace, tare_module.folder / "o.tare")]
    assert sum(map(int, values)) == sizes[0] - sizes[1]


def test_pprof_shows_its_page(tare_module: Tare, trace: Path) -> None:
    """`-http` serves the graphs; the program isn't asked to open a browser."""
    import socket
    import time
    import urllib.request

    path = exported(tare_module, trace, "pprof", name="page")
    if shutil.which("go") is None:
        pytest.skip("go isn't installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["go", "tool", "pprof", "-no_browser", f"-http=127.0.0.1:{port}", str(path)]
    environment = {**os.environ, "PPROF_TMPDIR": str(tare_module.folder)}
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    try:
        page = ""
        for _ in range(300):
            try:
                page = (
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/ui/flamegraph?si=alloc_space", timeout=30)
                    .read()
                    .decode()
                )
                break
            except OSError:
                time.sleep(0.2)
        assert "few_bytes" in page
    finally:
        os.killpg(server.pid, 15)
        server.wait()


def test_speedscopes_file_is_valid_by_its_schema(tare_module: Tare, trace: Path) -> None:
    schema = viewers.needs_package("speedscope") / "dist/release/file-format-schema.json"
    viewers.needs_python("check_jsonschema")
    path = exported(tare_module, trace, "speedscope", name="valid")
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", schema]
    done = subprocess.run([*command, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    other = tare_module.folder / "invalid.json"
    other.write_text(path.read_text().replace('"unit":"bytes"', '"unit":"octets"', 1))
    assert subprocess.run([*command, other], capture_output=True).returncode == 1


def test_sarif_is_valid_by_its_validator(tare_module: Tare, trace: Path) -> None:
    tool = viewers.needs_package("@microsoft/sarif-multitool-linux") / "Sarif.Multitool"
    path = exported(tare_module, trace, "sarif", name="valid")
    assert json.loads(path.read_text())["runs"][0]["results"]
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "HOME": str(tare_module.folder)}

    def validate(file: Path) -> str:
        done = subprocess.run([tool, "validate", file], capture_output=True, text=True, env=environment, timeout=300)
        return done.stdout + done.stderr

    assert "error" not in validate(path)
    other = tare_module.folder / "invalid.sarif"
    other.write_text(path.read_text().replace('"file:///', '"/'))  # no relative reference begins with a slash
    assert "error" in validate(other)


@pytest.mark.parametrize("to", ["parquet", "arrow"])
def test_readers_of_tables_have_the_totals(to: str, tare_module: Tare, trace: Path) -> None:
    arrow = viewers.needs_python("pyarrow")
    viewers.needs_python("polars")
    from pyarrow import ipc, parquet

    folder = exported(tare_module, trace, to, name="tables")
    path = folder / f"site_sizes.{to}"
    wanted = total(tare_module, trace, "peak_blocks")
    assert viewers.of_table(path, to) == dict.fromkeys(viewers.of_table(path, to), wanted)
    read = parquet.read_table if to == "parquet" else lambda file: ipc.open_file(str(file)).read_all()
    table = read(path)
    metadata = table.schema.metadata if to == "arrow" else parquet.read_metadata(path).metadata
    assert metadata[b"tare.schema"] == b"1" and metadata[b"tare.table"] == b"site_sizes"
    names = {each.stem for each in folder.iterdir()}
    assert {"process", "site_sizes", "stacks", "frames", "timeline"} <= names
    every = exported(tare_module, trace, to, "--tables", "all", name="all")
    schema = json.loads(tare_module("schema", "--json").stdout)
    assert {each.stem for each in every.iterdir()} == {each["name"] for each in schema} > names

    rows = table.to_pylist()
    next(row for row in rows if row["peak_blocks"])["usable_bytes"] += 1
    changed = arrow.Table.from_pylist(rows, schema=table.schema)
    other = folder / f"damaged.{to}"
    if to == "parquet":
        parquet.write_table(changed, other)
    else:
        with ipc.new_file(other, changed.schema) as out:
            out.write_table(changed)
    assert wanted not in viewers.of_table(other, to).values()


def of_perfetto(path: Path) -> tuple[int, int, int]:
    """The peak; and of the counters, which are all that its page draws, the sums of calls."""
    events = json.loads(path.read_text())["traceEvents"]
    (peak,) = [each for each in events if each["name"] == "peak"]
    calls = [each["args"] for each in events if each["name"] == "calls in the interval"]
    return peak["args"]["gross_bytes"], sum(each["allocations"] for each in calls), sum(each["frees"] for each in calls)


def test_perfetto_has_the_peak_and_all_calls(tare_module: Tare, trace: Path) -> None:
    path = exported(tare_module, trace, "perfetto", name="events")
    (row,) = tare_module.sql(trace, "select sum(alloc_events) as begun, sum(free_events) as ended from timeline")
    wanted = (total(tare_module, trace, "peak_blocks"), int(row["begun"]), int(row["ended"]))
    assert of_perfetto(path) == wanted
    for key in ("gross_bytes", "allocations", "frees"):
        assert of_perfetto(damaged_json(path, key)) != wanted


def damaged_json(path: Path, key: str) -> Path:
    """The first number with this key is greater by one."""
    text = path.read_text()
    found = re.search(rf'"{key}": ?(?:{{\s*"value": )?(\d+)', text)
    assert found is not None, key
    other = path.with_name(f"damaged-{key}{path.suffix}")
    other.write_text(f"{text[: found.start(1)]}{int(found[1]) + 1}{text[found.end(1) :]}")
    return other


def of_bmf(path: Path) -> dict[str, int]:
    (measures,) = json.loads(path.read_text()).values()
    return {name: each["value"] for name, each in measures.items()}


def test_bmf_has_the_totals(tare_module: Tare, trace: Path) -> None:
    path = exported(tare_module, trace, "bmf", name="bench")
    (row,) = tare_module.sql(
        trace, "select total_blocks, total_requested_bytes, end_gross_bytes, peak_rss_bytes from process"
    )
    wanted = {
        "heap-peak-bytes": total(tare_module, trace, "peak_blocks"),
        "heap-peak-tare-bytes": tare_module.report(trace)["peak"]["tare_bytes"],
        "heap-end-bytes": int(row["end_gross_bytes"]),
        "heap-allocations": int(row["total_blocks"]),
        "heap-allocated-bytes": int(row["total_requested_bytes"]),
        "peak-rss-bytes": int(row["peak_rss_bytes"]),
    }
    assert of_bmf(path) == wanted
    for key in wanted:
        assert of_bmf(damaged_json(path, key)) != wanted


def test_options_choose_what_the_report_shows(tare_module: Tare, trace: Path) -> None:
    for options in (("--at", "end"), ("--filter", "parse"), ("--at", "end", "--filter", "!parse"), ("--at", "1ms")):
        shown = tare_module.report(trace, *options)["records"]["list"]
        folded = exported(tare_module, trace, "folded", *options, name="chosen")
        assert viewers.of_folded(folded, "") == sum(record["gross_bytes"] for record in shown)
    whole = tare_module.report(trace, "--mode", "cumulative", "--filter", "parse")["records"]["list"]
    folded = exported(tare_module, trace, "folded", "--measure", "alloc_space", "--filter", "parse", name="chosen")
    assert viewers.of_folded(folded, "") == sum(record["gross_bytes"] for record in whole)
    folded = exported(tare_module, trace, "folded", "--measure", "tare_space", name="chosen")
    assert viewers.of_folded(folded, "") == tare_module.report(trace)["peak"]["tare_bytes"]


def test_wrong_options_are_refused_in_one_line(tare_module: Tare, trace: Path) -> None:
    for options, words in (
        (("--to", "perfetto", "--at", "end"), "has no --at"),
        (("--to", "dhat", "--measure", "tare_space"), "has no --measure"),
        (("--to", "firefox", "--measure", "inuse_objects"), "has bytes only"),
        (("--to", "folded", "--at", "1s", "--lens", "slop"), "peak or end"),
        (("--to", "folded", "--lens", ","), "needs lenses"),
        (("--to", "sarif", "--tables", "process"), "has no --tables"),
        (("--to", "parquet"), "give a folder by -o"),
    ):
        done = tare_module("export", trace, *options)
        assert done.returncode == 2 and done.stdout == "", options
        assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr


def test_standard_output_and_failures(tare_module: Tare, trace: Path) -> None:
    path = exported(tare_module, trace, "folded", name="same")
    assert tare_module("export", trace, "--to", "folded").stdout == path.read_text()
    done = tare_module("export", trace, "--to", "folded", "-o", "/nowhere/out")
    assert done.returncode == 4 and len(done.stderr.splitlines()) == 1
    done = tare_module("export", tare_module.folder / "missing.tare", "--to", "folded")
    assert done.returncode == 4 and len(done.stderr.splitlines()) == 1
    with open("/dev/full", "wb") as full:
        command = [tare_module.command, "export", trace, "--to", "speedscope"]
        failed = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert failed.returncode == 4 and len(failed.stderr.splitlines()) == 1, failed.stderr
