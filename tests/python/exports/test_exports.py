"""Exports: the sums of each format equal those of the tables, frames are in the format's order, and hostile names stay data."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handmade import Handmade
from tare import schema
from tare.errors import TareError
from tare.exports import FORMATS, firefox, format_named, samples
from tare.exports.samples import MEASURES, Samples
from tare.exports.selection import ALL, Selection
from tare.lenses import load

HOSTILE = "evil::name\n::warning file=x::owned;a|b</script>\x1b[31m"


@pytest.fixture
def filled(made: Handmade) -> Handmade:
    one, other = made.stack("leaf", "middle", "main"), made.stack("leaf", "main")
    made.blocks(one, 1000, 1032, total=7, peak=5, end=1)
    made.blocks(one, 20, 24, total=100, peak=0)
    made.blocks(other, 4000, 4096, total=3, peak=3, end=3)
    return made


def exported(made: Handmade, to: str, selection: Selection = ALL) -> bytes:
    out = io.BytesIO()
    format_named(to).write(made.recording(), selection, out)
    return out.getvalue()


def sums(made: Handmade) -> dict[str, int]:
    rows = made.tables["site_sizes"]
    space = [row["usable_bytes"] + row["header_bytes"] for row in rows]
    return {
        "alloc_objects": sum(row["total_blocks"] for row in rows),
        "alloc_space": sum(row["total_blocks"] * each for row, each in zip(rows, space, strict=True)),
        "inuse_objects": sum(row["peak_blocks"] for row in rows),
        "inuse_space": sum(row["peak_blocks"] * each for row, each in zip(rows, space, strict=True)),
        "end_space": sum(row["end_blocks"] * each for row, each in zip(rows, space, strict=True)),
    }


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Fields of a message on protocol buffers' wire: an independent reader."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, data[at : at + size]
            at += size


def varints(data: bytes) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def test_pprof_has_five_sums_and_stacks_from_the_leaf(filled: Handmade) -> None:
    message = list(fields(gzip.decompress(exported(filled, "pprof"))))
    strings = [value.decode() for number, value in message if number == 6]
    assert strings[0] == ""
    types = [strings[dict(fields(value))[1]] for number, value in message if number == 1]
    assert types == list(MEASURES)
    samples = [dict(fields(value)) for number, value in message if number == 2]
    totals = [sum(column) for column in zip(*(varints(sample[2]) for sample in samples), strict=True)]
    expected = sums(filled)
    assert dict(zip(types, totals, strict=True)) == {
        **{name: expected[name] for name in types if name in expected},
        "tare_space": totals[-1],
    }
    functions = {f[1]: strings[f[2]] for number, value in message if number == 5 for f in [dict(fields(value))]}
    names = {}
    for number, value in message:
        if number == 4:
            location = list(fields(value))
            identity = next(v for n, v in location if n == 1)
            names[identity] = [functions[dict(fields(v))[1]] for n, v in location if n == 4]
    first = [name for location in varints(samples[0][1]) for name in names[location]]
    assert first == ["leaf", "middle", "main"]
    labels = [[dict(fields(value)) for n, value in fields(sample) if n == 3] for n, sample in message if n == 2]
    assert [size[3] for size, _ in labels] == [24, 1032, 4096]
    assert {(strings[thread[1]], strings[thread[2]]) for _, thread in labels} == {("thread", "0")}


def test_blocks_of_several_threads_are_samples_of_their_own() -> None:
    made = Handmade(threads=3)
    stack = made.stack("leaf", "main")
    shared, single, unsure = (made.blocks(stack, size, size, total=9, peak=5, end=1) for size in (24, 40, 56))
    for shape, thread, total, peak, end in (
        (shared, 1, 6, 5, 0), (shared, 2, 3, 0, 1), (single, 2, 9, 5, 1), (unsure, 1, 9, 4, 1),  # another sum
    ):  # fmt: skip
        row = {"size_id": shape, "stack_id": stack, "thread": thread, "total_blocks": total}
        made.tables["thread_sizes"].append({**row, "peak_blocks": peak, "end_blocks": end})
    samples = Samples(made.recording(), ALL, with_tare=False, with_threads=True)
    found = [
        row
        for batch in samples.by_size()
        for row in zip(
            *(batch[name] for name in ("usable_bytes", "thread", "total_blocks", "live_blocks")), strict=True
        )
    ]
    assert found == [(24, 1, 6, 5), (24, 2, 3, 0), (40, 2, 9, 5), (56, -1, 9, 5)]
    by_thread = list(samples.of_measure_by_thread("inuse_space"))
    assert by_thread == [([stack] * 3, [1, 2, -1], [5 * 32, 5 * 48, 5 * 64])]
    assert samples.of_measure("inuse_space") == ([stack], [5 * (32 + 48 + 64)])


def test_speedscope_has_a_profile_for_each_measure(filled: Handmade) -> None:
    document = json.loads(exported(filled, "speedscope"))
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    expected = sums(filled)
    for profile, measure in zip(document["profiles"], MEASURES, strict=True):
        assert sum(profile["weights"]) == profile["endValue"] == expected.get(measure, profile["endValue"])
    stack = document["profiles"][3]["samples"][0]
    assert [frames[number] for number in stack] == ["main", "middle", "leaf"]


def test_heapprofile_is_a_tree_of_the_peak(filled: Handmade) -> None:
    head = json.loads(exported(filled, "heapprofile"))["head"]
    assert [child["callFrame"]["functionName"] for child in head["children"]] == ["main"]
    nodes, whole = [head], 0
    for node in nodes:
        whole += node["selfSize"]
        nodes.extend(node["children"])
    assert whole == sums(filled)["inuse_space"]


def test_heapprofile_of_a_deep_stack(made: Handmade) -> None:
    made.blocks(made.stack(*(f"f{i}" for i in range(700))), 16, 24, total=1, peak=1)
    text = exported(made, "heapprofile")
    assert text.count(b'"children":[]') == 1
    assert text.count(b'"callFrame"') == 701


def test_dhat_joins_points_with_the_same_frames(filled: Handmade) -> None:
    document = json.loads(exported(filled, "dhat"))
    expected = sums(filled)
    points = document["pps"]
    assert len({tuple(point["fs"]) for point in points}) == len(points)
    for field, measure in (("tb", "alloc_space"), ("tbk", "alloc_objects"), ("gb", "inuse_space"), ("eb", "end_space")):
        assert sum(point[field] for point in points) == expected[measure]
    assert document["ftbl"][0] == "[root]"
    assert "leaf" in document["ftbl"][points[0]["fs"][0]]


def test_perfetto_has_counters_in_microseconds(filled: Handmade) -> None:
    filled.tables["timeline"].append(
        {"time_ns": 1_500_000, "requested_bytes": 90.0, "usable_bytes": 96.0, "gross_bytes": 104.0, "max_gross_bytes": 104.0,
         "blocks": 1.0, "alloc_events": 2, "free_events": 1, "mapped_bytes": 4096}
    )  # fmt: skip
    events = json.loads(exported(filled, "perfetto"))["traceEvents"]
    (heap,) = [each for each in events if each["name"] == "heap bytes" and each["ts"] == 1500]
    assert heap["args"] == {"requested": 90, "slop and headers": 14}
    assert {"M", "C", "i"} == {each["ph"] for each in events}


def test_firefox_has_the_peak_and_no_index_out_of_range(filled: Handmade) -> None:
    """The profiler shows wrong indexes as other functions, and says nothing."""
    (thread,) = json.loads(exported(filled, "firefox"))["threads"]
    stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    for table in (stacks, frames, functions, thread["nativeAllocations"]):
        assert {len(column) for column in table.values() if isinstance(column, list)} == {table["length"]}
    allocations = thread["nativeAllocations"]
    assert sum(allocations["weight"]) == sums(filled)["inuse_space"]
    node, names = allocations["stack"][0], []
    while node is not None:
        names.append(thread["stringArray"][functions["name"][frames["func"][stacks["frame"][node]]]])
        assert stacks["prefix"][node] is None or stacks["prefix"][node] < node
        node = stacks["prefix"][node]
    assert names == ["leaf", "middle", "main"]


def test_files_are_whole_where_they_are_written_in_pieces(made: Handmade, monkeypatch: pytest.MonkeyPatch) -> None:
    """More stacks than a batch of samples or a piece of an array has."""
    monkeypatch.setattr(samples, "_BATCH", 16)
    monkeypatch.setattr(firefox, "_PIECE", 16)
    count = 100
    for number in range(count):
        made.blocks(made.stack(f"f{number}", "main"), 16, 24, total=1, peak=1)
    wanted = sums(made)["inuse_space"]
    (thread,) = json.loads(exported(made, "firefox"))["threads"]
    allocations = thread["nativeAllocations"]
    assert {len(allocations[name]) for name in ("time", "weight", "stack", "memoryAddress", "threadId")} == {count}
    assert sum(allocations["weight"]) == wanted
    assert len(thread["stackTable"]["frame"]) == len(thread["stackTable"]["prefix"]) == thread["stackTable"]["length"]
    assert sum(amounts_of(exported(made, "folded")).values()) == wanted
    assert sum(json.loads(exported(made, "speedscope"))["profiles"][3]["weights"]) == wanted
    assert sum(point["gb"] for point in json.loads(exported(made, "dhat"))["pps"]) == wanted
    assert exported(made, "heapprofile").count(b'"selfSize":32') == count
    values = [
        dict(fields(value))[2] for number, value in fields(gzip.decompress(exported(made, "pprof"))) if number == 2
    ]
    assert sum(varints(each)[3] for each in values) == wanted


def test_folded_stacks_begin_at_the_outermost_function(filled: Handmade) -> None:
    lines = exported(filled, "folded").decode().splitlines()
    assert [line.rsplit(" ", 1)[0] for line in lines] == ["main;middle;leaf", "main;leaf"]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == sums(filled)["inuse_space"]


@pytest.mark.skipif(shutil.which("ms_print") is None, reason="ms_print (valgrind) isn't installed")
def test_ms_print_reads_massifs_format(filled: Handmade, tmp_path: Path) -> None:
    path = tmp_path / "massif.out"
    path.write_bytes(exported(filled, "massif"))
    text = subprocess.run(["ms_print", path], capture_output=True, text=True, check=True).stdout
    assert f"{sums(filled)['inuse_space']:,}" in text
    assert "leaf" in text


@pytest.mark.skipif(shutil.which("go") is None, reason="go isn't installed")
def test_go_tool_pprof_reads_and_compares(filled: Handmade, tmp_path: Path) -> None:
    path = tmp_path / "a.pb.gz"
    path.write_bytes(exported(filled, "pprof"))

    def pprof(*arguments: str) -> str:
        command = ["go", "tool", "pprof", "-unit=B", *arguments, str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    for measure in ("alloc_space", "inuse_space"):
        assert f"{sums(filled)[measure]}B" in pprof("-top", f"-sample_index={measure}")
    assert "accounting for 0, 0%" in pprof("-top", "-diff_base", str(path))


def test_sarif_has_a_rule_for_each_lens_and_stable_fingerprints(busy: Handmade) -> None:
    run = json.loads(exported(busy, "sarif"))["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    again = json.loads(exported(busy, "sarif"))["runs"][0]
    prints = [result["partialFingerprints"] for result in run["results"]]
    assert prints == [result["partialFingerprints"] for result in again["results"]]


def test_names_cant_add_annotations(made: Handmade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    stack = made.stack(HOSTILE, "main")
    made.blocks(stack, 1032, 2040, total=50_000, peak=50_000)
    text = exported(made, "github").decode()
    assert all(line.startswith("::warning file=") for line in text.splitlines())
    assert "\n::warning file=x" not in text
    assert "</script>" not in summary.read_text()


@pytest.mark.parametrize("to", [name for name, each in FORMATS.items() if "tables" not in each.options])
def test_a_recording_without_blocks_is_a_valid_file(made: Handmade, to: str) -> None:
    data = exported(made, to)
    if to in ("firefox", "speedscope", "perfetto", "heapprofile", "dhat", "sarif", "bmf"):
        json.loads(data)


def test_parquet_has_a_file_for_each_table(filled: Handmade, tmp_path: Path) -> None:
    import duckdb
    from tare.exports.parquet import write_folder

    write_folder(filled.recording(), tmp_path / "it's", ["site_sizes", "process"])
    assert sorted(path.name for path in (tmp_path / "it's").iterdir()) == ["process.parquet", "site_sizes.parquet"]
    path = tmp_path / "it's" / "site_sizes.parquet"
    (row,) = duckdb.sql(
        f"select sum(peak_blocks * (usable_bytes + header_bytes)) from read_parquet([$${path}$$])"
    ).fetchall()
    assert round(row[0]) == sums(filled)["inuse_space"]
    found = duckdb.sql(f"select key, value from parquet_kv_metadata($${path}$$)").fetchall()
    assert {bytes(key): bytes(value) for key, value in found}[b"tare.table"] == b"site_sizes"


def amounts_of(folded: bytes) -> dict[str, int]:
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in folded.decode().splitlines()}


def test_time_measure_and_filter_choose_the_part(filled: Handmade) -> None:
    at_end = amounts_of(exported(filled, "folded", Selection(at="end")))
    assert at_end == {"main;middle;leaf": 1040, "main;leaf": 3 * 4104}
    objects = amounts_of(exported(filled, "folded", Selection(measure="alloc_objects")))
    assert objects == {"main;middle;leaf": 107, "main;leaf": 3}
    only = amounts_of(exported(filled, "folded", Selection(filters=("middle",))))
    assert only == {"main;middle;leaf": 5 * 1040}
    without = amounts_of(exported(filled, "folded", Selection(measure="alloc_space", filters=("!middle",))))
    assert without == {"main;leaf": 3 * 4104}
    assert exported(filled, "folded", Selection(filters=("nowhere",))) == b""


def test_lenses_choose_what_is_tare(filled: Handmade) -> None:
    recording = filled.recording()
    for name in ("slop", "headers"):
        expected = sum(each[1] or 0 for each in recording.ledger.sums_by_site(load(name)))
        found = amounts_of(exported(filled, "folded", Selection(lenses=(name,))))
        assert sum(found.values()) == expected > 0
    every = amounts_of(exported(filled, "folded", Selection(measure="tare_space")))
    assert sum(every.values()) == recording.ledger.tare_bytes()[0]


def test_claims_about_a_whole_stack_are_kept(made: Handmade) -> None:
    """A lens about growth claims for a stack, not for a size."""
    stack = made.stack("grow", "main")
    made.blocks(stack, 4096, 4104, total=100, peak=50, end=50)
    made.chain(stack, grown_blocks=50.0, steps=500.0, slow_steps=500.0, copied_bytes=5e6, doubling_copied_bytes=1e5,
               requested_bytes=5e6, rounded_4k_bytes=6e6, max_requested_bytes=4096, peak_blocks=50.0)  # fmt: skip
    expected = sum(each[1] or 0 for each in made.recording().ledger.sums_by_site(load("growth")))
    assert sum(amounts_of(exported(made, "folded", Selection(lenses=("growth",)))).values()) == round(expected)


def test_a_time_between_has_no_tare() -> None:
    with pytest.raises(TareError, match="peak or end"):
        Selection(at="1s", lenses=("slop",)).check()
    Selection(at="1s").check()


def test_findings_are_chosen_by_lens_and_filter(busy: Handmade) -> None:
    def rules(selection: Selection) -> set[str]:
        results = json.loads(exported(busy, "sarif", selection))["runs"][0]["results"]
        return {result["ruleId"] for result in results}

    every = rules(ALL)
    assert len(every) > 1
    one = sorted(every)[0]
    assert rules(Selection(lenses=(one,))) == {one}
    assert rules(Selection(filters=("nowhere",))) == set()


def test_dhat_has_bytes_that_were_never_written(made: Handmade) -> None:
    stack = made.stack("leaf", "main")
    shape = made.with_contents().blocks(stack, 100, 104, total=10, peak=4, end=2)
    zero = {c.name: 0 for c in schema.BY_NAME["written"].columns}
    # 8 blocks ended: 5 written whole, one never, two up to byte 40.
    made.tables["written"].append(
        {**zero, "size_id": shape, "stack_id": stack, "requested_bytes": 100, "ended_blocks": 8.0, "partly_blocks": 3.0,
         "max_high_water_bytes": 100, "unwritten_total_bytes": 100.0 + 2 * 60, "within_0": 1.0, "within_48": 2.0}
    )  # fmt: skip
    document = json.loads(exported(made, "dhat"))
    assert document["bkacc"]
    (point,) = document["pps"]
    assert point["wb"] == 8 * 100 - 220
    accesses = []
    for length, number in zip(point["acc"][::2], point["acc"][1::2], strict=True):
        accesses += [number] * -length
    assert accesses == [7] * 48 + [5] * 52


def test_firefox_has_findings_as_markers(busy: Handmade) -> None:
    (thread,) = json.loads(exported(busy, "firefox"))["threads"]
    markers = thread["markers"]
    assert markers["length"] == len(markers["data"]) == len(markers["startTime"]) > 0
    assert {each["type"] for each in markers["data"]} == {"TareFinding"}
    names = {thread["stringArray"][number] for number in markers["name"]}
    assert names == {f"tare: {each['lens']}" for each in markers["data"]}
