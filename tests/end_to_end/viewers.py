"""Totals of exported files, as the tools read them that the files are for. Tools that aren't installed skip the test."""

from __future__ import annotations

import base64
import gzip
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser

REPO = Path(__file__).resolve().parents[2]
PACKAGES = REPO / "build/viewers/node_modules"  # `make build/viewers/.installed`
DHAT_PAGE = Path("/usr/libexec/valgrind/dh_view.html")


def needs_package(name: str) -> Path:
    if not (PACKAGES / name).exists() or shutil.which("node") is None:
        pytest.skip(f"npm's package {name} isn't installed: make build/viewers/.installed")
    return PACKAGES / name


def needs_python(name: str) -> Any:
    """The module; its absence skips the test."""
    return pytest.importorskip(name, reason=f"{name} isn't installed")


def go_tool(path: Path, *arguments: str) -> str:
    if shutil.which("go") is None:
        pytest.skip("go isn't installed")
    environment = {**os.environ, "PPROF_TMPDIR": str(path.parent)}
    command = ["go", "tool", "pprof", "-unit=B", *arguments, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=path.parent, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def of_pprof(path: Path, measure: str) -> int:
    """By `go tool pprof -raw`, which checks the profile."""
    raw = go_tool(path, "-raw")
    types = re.search(r"Samples:\n(.*)\n", raw)
    assert types is not None, raw[:2000]
    column = [each.partition("/")[0] for each in types[1].replace("[dflt]", "").split()].index(measure)
    body = raw.partition("Samples:")[2].partition("Locations")[0]
    return sum(int(row.split()[column]) for row in re.findall(r"^ *((?:-?\d+ +)+-?\d+):", body, re.MULTILINE))


def profile_message() -> Any:
    """The message Profile of proto/profile.proto, for protobuf's own reader."""
    descriptors = needs_python("google.protobuf.descriptor_pb2")
    pool = importlib.import_module("google.protobuf.descriptor_pool").DescriptorPool()
    factory = importlib.import_module("google.protobuf.message_factory")
    file = descriptors.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    numbers = {"int64": 3, "uint64": 4, "bool": 8, "string": 9}
    messages = {
        "ValueType": "type:1:int64 unit:2:int64",
        "Label": "key:1:int64 str:2:int64 num:3:int64 num_unit:4:int64",
        "Sample": "location_id:1:uint64* value:2:int64* label:3:Label*",
        "Mapping": "id:1:uint64 memory_start:2:uint64 memory_limit:3:uint64 file_offset:4:uint64 filename:5:int64"
        " build_id:6:int64 has_functions:7:bool has_filenames:8:bool has_line_numbers:9:bool has_inline_frames:10:bool",
        "Line": "function_id:1:uint64 line:2:int64 column:3:int64",
        "Location": "id:1:uint64 mapping_id:2:uint64 address:3:uint64 line:4:Line* is_folded:5:bool",
        "Function": "id:1:uint64 name:2:int64 system_name:3:int64 filename:4:int64 start_line:5:int64",
        "Profile": "sample_type:1:ValueType* sample:2:Sample* mapping:3:Mapping* location:4:Location* function:5:Function*"
        " string_table:6:string* drop_frames:7:int64 keep_frames:8:int64 time_nanos:9:int64 duration_nanos:10:int64"
        " period_type:11:ValueType period:12:int64 comment:13:int64* default_sample_type:14:int64 doc_url:15:int64",
    }
    for message, fields in messages.items():
        described = file.message_type.add(name=message)
        for text in fields.split():
            name, number, kind = text.split(":")
            field = described.field.add(name=name, number=int(number), label=3 if kind.endswith("*") else 1)
            if (kind := kind.rstrip("*")) in numbers:
                field.type = numbers[kind]
            else:
                field.type, field.type_name = 11, f".p.{kind}"
    pool.Add(file)
    return factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))()


def of_protobuf(path: Path, measure: str) -> int:
    profile = profile_message()
    profile.ParseFromString(gzip.decompress(path.read_bytes()))
    names = [profile.string_table[each.type] for each in profile.sample_type]
    return sum(sample.value[names.index(measure)] for sample in profile.sample)


def of_otlp(path: Path, measure: str) -> int:
    """By OpenTelemetry's own classes. Each sample's stack leads to functions with names."""
    data = needs_python("opentelemetry.proto.profiles.v1development.profiles_pb2").ProfilesData()
    data.ParseFromString(path.read_bytes())
    dictionary = data.dictionary
    (scope,) = data.resource_profiles[0].scope_profiles
    for profile in scope.profiles:
        if dictionary.string_table[profile.sample_type.type_strindex] == measure:
            for sample in profile.samples:
                stack = dictionary.stack_table[sample.stack_index]
                lines = [line for at in stack.location_indices for line in dictionary.location_table[at].lines]
                names = [
                    dictionary.string_table[dictionary.function_table[each.function_index].name_strindex]
                    for each in lines
                ]
                assert names and all(names)
            return sum(sum(sample.values) for sample in profile.samples)
    raise AssertionError(f"no profile of {measure}")


def of_firefox(path: Path, _: str) -> int:
    """By the profiler's own code. Its server of a profile may take longer to start than its command waits."""
    command = ["node", str(needs_package("@firefox-devtools/profiler-cli") / "dist/profiler-cli.js")]
    environment = {**os.environ, "HOME": str(path.parent), "PROFILER_CLI_SESSION_DIR": str(path.parent / "sessions")}
    session = f"s{path.stem}"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment, timeout=120)

    run("load", str(path), "--session", session)
    try:
        arguments = ("thread", "samples", "--session", session, "--strategy", "native-retained-allocations", "--json")
        for _attempt in range(60):
            done = run(*arguments)
            if done.returncode == 0:
                break
            time.sleep(1)
        assert done.returncode == 0, done.stderr
        return int(json.loads(done.stdout)["categoryBreakdown"]["totalSamples"])
    finally:
        run("stop", session)


def of_dhat(path: Path, measure: str) -> int:
    if not DHAT_PAGE.exists() or not CHROMIUM:
        pytest.skip("valgrind's dh_view.html or Chromium isn't installed")
    field = {
        "alloc_space": "_totalBytes",
        "alloc_objects": "_totalBlocks",
        "inuse_space": "_atTGmaxBytes",
        "end_space": "_atTEndBytes",
    }
    with Browser(path.parent / f"browser-{path.stem}") as browser:
        browser.show(f"file://{DHAT_PAGE}", "typeof gInput === 'object' && gInput !== null")
        text = json.dumps(path.read_text())
        browser.evaluate(
            f"(() => {{ const moved = new DataTransfer(); moved.items.add(new File([{text}], 'dhat.json'));"
            " gInput.files = moved.files; loadFile(); })()"
        )
        browser.wait("typeof gRoot === 'object' && gRoot !== null || document.querySelector('.error') !== null")
        assert browser.evaluate("document.querySelector('.error') === null"), browser.evaluate(
            "document.body.innerText"
        )
        assert browser.problems == []
        return int(browser.evaluate(f"gRoot.{field[measure]}"))


def of_speedscope(path: Path, measure: str) -> int:
    """By speedscope's page: the file that its export would save has the calls that it shows. Their weights are the stretches between
    its events, which must lie in order.
    """
    page = needs_package("speedscope") / "dist/release/index.html"
    if not CHROMIUM:
        pytest.skip("Chromium isn't installed")
    loader = path.with_suffix(".js")  # as speedscope's own command writes it
    text = base64.b64encode(path.read_bytes()).decode()
    loader.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, {json.dumps(text)})")
    with Browser(path.parent / f"browser-{path.stem}") as browser:
        browser.show(f"file://{page}#localProfilePath={str(loader)[1:]}", "document.body.innerText.includes('Export')")
        assert "inuse_space (4/5)" in browser.evaluate("document.body.innerText")
        browser.evaluate(
            "(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => { window.saved = blob; return make.call(URL, blob); };"
            " HTMLAnchorElement.prototype.click = () => {};"
            " const button = [...document.querySelectorAll('div')].find((each) => each.innerText.trim().endsWith('Export') &&"
            " each.childElementCount <= 1); button.dispatchEvent(new MouseEvent('click', {bubbles: true})); })()"
        )
        browser.wait("window.saved !== undefined")
        shown = json.loads(browser.evaluate("window.saved.text()"))
        assert browser.problems == []
    (profile,) = [each for each in shown["profiles"] if each["name"].endswith(f": {measure}")]
    total, before, depth = 0, 0, 0
    for event in profile["events"]:
        assert event["at"] >= before
        total += event["at"] - before if depth else 0
        before, depth = event["at"], depth + (1 if event["type"] == "O" else -1)
    assert depth == 0
    return total


def of_massif(path: Path, _: str) -> int:
    """The total of the detailed snapshot in ms_print's table."""
    if shutil.which("ms_print") is None:
        pytest.skip("ms_print (valgrind) isn't installed")
    text = subprocess.run(["ms_print", path], capture_output=True, text=True, check=True).stdout
    detailed = re.search(r"Detailed snapshots: \[.*?(\d+) \(peak\)", text)
    assert detailed is not None, text
    row = re.search(rf"^ *{detailed[1]} +[\d,]+ +([\d,]+) ", text, re.MULTILINE)
    assert row is not None, text
    return int(row[1].replace(",", ""))


def of_folded(path: Path, _: str) -> int:
    return sum(int(line.rpartition(" ")[2]) for line in path.read_text().splitlines())


def of_heapprofile(path: Path, _: str) -> int:
    """V8's own rules: a node's children are its callees, and ids are distinct."""
    nodes, total = [json.loads(path.read_text())["head"]], 0
    for node in nodes:
        assert set(node) == {"callFrame", "selfSize", "id", "children"}
        assert set(node["callFrame"]) == {"functionName", "scriptId", "url", "lineNumber", "columnNumber"}
        total += node["selfSize"]
        nodes.extend(node["children"])
    assert len({node["id"] for node in nodes}) == len(nodes)
    return total


def of_table(path: Path, to: str) -> dict[str, int]:
    """Gross bytes at the peak in a file of table site_sizes, by each reader of the format."""
    polars, dataset = needs_python("polars"), needs_python("pyarrow.dataset")
    frame = polars.read_parquet(path) if to == "parquet" else polars.read_ipc(path)
    found = {"polars": (frame["peak_blocks"] * (frame["usable_bytes"] + frame["header_bytes"])).sum()}
    if to == "parquet":
        rows = dataset.dataset(path).to_table().to_pylist()
        query = f"select sum(peak_blocks * (usable_bytes + header_bytes)) from '{path}'"
        found["duckdb"] = needs_python("duckdb").sql(query).fetchall()[0][0]
    else:
        rows = needs_python("pyarrow.ipc").open_file(str(path)).read_all().to_pylist()
    found["pyarrow"] = sum(row["peak_blocks"] * (row["usable_bytes"] + row["header_bytes"]) for row in rows)
    return {name: round(value) for name, value in found.items()}
