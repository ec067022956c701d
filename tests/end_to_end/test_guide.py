"""The guide's pairs, as a reader would try them: the profiler finds the waste before, `tare diff` proves it gone after, and
`tare compare` measures what the change costs or saves."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

REPO = Path(__file__).resolve().parent.parent.parent
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"


@dataclass(frozen=True)
class Pair:
    """One folder of the guide, and what its story says."""

    name: str
    lens: str | None = None  # that names the waste, if one does
    function: str = ""  # where: part of the finding's function
    environment: dict[str, str] = field(default_factory=dict)
    # moment, figure, and what is left of it afterwards: at most this share
    falls: tuple[tuple[str, str, float], ...] = ()
    options: tuple[str, ...] = ()  # of tare run
    rss: float = 1.4  # what is left of the peak RSS at most, or may be added


PAIRS = (
    Pair(
        "01-clownshoes",
        "slop",
        "new_segment",
        {"LD_PRELOAD": JEMALLOC},
        (("peak", "gross_bytes", 0.81), ("peak", "tare_bytes", 0.01)),
    ),
    Pair(
        "02-just-enough-growth",
        "growth",
        "append",
        falls=(("total", "blocks", 0.02), ("total", "requested_bytes", 0.02)),
    ),
    Pair(
        "03-eager-buffers",
        "churn",
        "NameStream",
        falls=(("total", "blocks", 0.15), ("total", "requested_bytes", 0.1)),
    ),
    Pair(
        "04-twin-blocks",
        "headers",
        "Symbol",
        falls=(("peak", "gross_bytes", 0.72), ("peak", "tare_bytes", 0.05)),
        rss=0.75,
    ),
    Pair("05-duplicates", falls=(("peak", "gross_bytes", 0.65),), rss=0.7),
    Pair("06-recycling-cache", falls=(("end", "gross_bytes", 0.01),)),
    Pair("07-dark-matter"),
    Pair(
        "08-arena",
        "headers",
        "RuleFile",
        falls=(("peak", "gross_bytes", 0.62), ("peak", "tare_bytes", 0.2)),
        rss=0.75,
    ),
    Pair(
        "09-unwritten",
        "unwritten",
        "Connection",
        falls=(("peak", "gross_bytes", 0.02), ("peak", "tare_bytes", 0.02)),
        rss=0.5,
        options=("--content",),
    ),
    Pair(
        "10-recreated",
        "recreated",
        "Layout",
        falls=(("total", "blocks", 0.001), ("total", "requested_bytes", 0.1)),
        options=("--content",),
    ),
    Pair(
        "11-hoards",
        "hoards",
        "unpack",
        falls=(("peak", "gross_bytes", 0.15), ("end", "gross_bytes", 0.15)),
        options=("--snapshots",),
        rss=0.5,
    ),
    Pair(
        "12-leaks",
        "leaks",
        "parse",
        falls=(("end", "gross_bytes", 0.2), ("end", "tare_bytes", 0.2)),
        options=("--snapshots",),
    ),
    Pair(
        "13-churn",
        "churn",
        "edit_distance",
        falls=(("total", "blocks", 0.01), ("total", "requested_bytes", 0.01)),
    ),
    Pair(
        "14-headroom",
        "headroom",
        "add",
        falls=(("peak", "tare_bytes", 0.8),),
        options=("--content",),
    ),
    Pair(
        "15-value-tree",
        "churn",
        "Value",
        falls=(("total", "blocks", 0.001), ("total", "requested_bytes", 0.02)),
        options=("--content",),
    ),
    Pair(
        "16-padding",
        "padding",
        "accept",
        falls=(("peak", "gross_bytes", 0.55),),
        rss=0.65,
    ),
    Pair(
        "17-document",
        "wide-pointers",
        "",
        falls=(("peak", "blocks", 0.5), ("peak", "gross_bytes", 0.75), ("total", "gross_bytes", 0.3)),
        options=("--snapshots",),
        rss=0.85,
    ),
)
# A ratio of CPU above this would be a cost that the pair's page would have to name.
SLOWER_AT_MOST = 1.25


@pytest.fixture(scope="session")
def guide() -> Path:
    """The folder with the built programs: guide/NAME/before and after."""
    build = REPO / "build/guide"
    options = ["-DTARE_LIBRARY_ONLY=ON", "-DTARE_BUILD_GUIDE=ON", "-DTARE_BUILD_TESTS=OFF"]
    subprocess.run(
        ["cmake", "-S", REPO, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    return build / "guide"


def output(program: Path) -> str:
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
class TestPair:
    def test_both_do_the_same(self, pair: Pair, guide: Path) -> None:
        before, after = (output(guide / pair.name / version) for version in ("before", "after"))
        if pair.name == "07-dark-matter":  # what they say of their memory is what differs
            before, after = before.splitlines()[0], after.splitlines()[0]
        assert before == after != ""

    def test_the_profiler_finds_it_and_the_change_removes_it(self, pair: Pair, guide: Path, tare: Tare) -> None:
        traces = {
            version: tare.record(
                guide / pair.name / version, name=f"{version}.tare", options=pair.options, env=pair.environment
            )
            for version in ("before", "after")
        }
        if pair.lens is not None:
            found = [
                finding
                for finding in tare.report(traces["before"], "--lens", pair.lens)["findings"]
                if finding["lens"] == pair.lens and pair.function in (finding["function"] or "")
            ]
            assert found, f"{pair.lens} doesn't name {pair.function}"
            left = tare.report(traces["after"], "--lens", pair.lens)["findings"]
            assert not [f for f in left if f["lens"] == pair.lens and pair.function in (f["function"] or "")]
        done = tare("diff", traces["before"], traces["after"], "--json")
        assert done.returncode == 0, done.stderr
        difference = json.loads(done.stdout)
        for moment, figure, share in pair.falls:
            values = difference[moment][figure]
            assert values["after"] <= share * values["before"], (moment, figure, values)

    def test_memory_does_not_suffer(self, pair: Pair, guide: Path, tare: Tare) -> None:
        commands = ["--", guide / pair.name / "before", "--", guide / pair.name / "after"]
        done = tare("compare", "--runs", "3", "--no-record", "--json", *commands, env=pair.environment)
        assert done.returncode == 0, done.stderr
        ratios = {row["metric"]: row["ratio"] for row in json.loads(done.stdout)["ratios"]}
        assert ratios["rss"] <= pair.rss

    def test_the_page_measured_no_loss_of_speed(self, pair: Pair) -> None:
        """By the rows that `make guide` wrote on an idle machine: a test beside others would measure these."""
        (cpu,) = re.findall(
            r"^    cpu .*s +(\S+) \[", (REPO / "guide" / pair.name / "README.md").read_text(), re.MULTILINE
        )
        assert float(cpu) <= SLOWER_AT_MOST


def unclassified_percent(tree: str) -> float:
    line = next(line for line in tree.splitlines() if "heap-unclassified" in line)
    return float(line.split("(")[1].split("%")[0])


def test_reporters_make_dark_matter_visible(guide: Path) -> None:
    assert unclassified_percent(output(guide / "07-dark-matter/before")) > 50
    assert unclassified_percent(output(guide / "07-dark-matter/after")) < 7


def test_twin_blocks_are_twins(guide: Path, tare: Tare) -> None:
    before, after = (tare.record(guide / "04-twin-blocks" / v, name=f"{v}.tare") for v in ("before", "after"))
    (twins,) = (f for f in tare.report(before, "--lens", "twins")["findings"] if "Symbol" in (f["function"] or ""))
    assert "Symbol" in twins["remedy"].split(" allocates", 1)[0], "the other site is named"
    assert twins["bytes_peak"] > 1_000_000
    assert not [f for f in tare.report(after, "--lens", "twins")["findings"] if "Symbol" in (f["function"] or "")]


def test_trees_of_values_are_twins_and_made_again(guide: Path, tare: Tare) -> None:
    before, after = (
        tare.record(guide / "15-value-tree" / v, name=f"{v}.tare", options=("--content",)) for v in ("before", "after")
    )
    for lens in ("twins", "recreated", "churn"):
        assert [f for f in tare.report(before, "--lens", lens)["findings"] if "Value" in (f["function"] or "")], lens
        assert not [f for f in tare.report(after, "--lens", lens)["findings"] if f["lens"] == lens], lens


def test_documents_of_members_and_atoms_take_half(guide: Path, tare: Tare) -> None:
    """Of 40 pages, by what each program says of its own; and the lens says why."""
    before, after = (
        [
            int(line)
            for line in subprocess.run(
                [guide / "17-document" / version, "--weigh", "40"], check=True, capture_output=True, text=True
            ).stdout.split()
        ]
        for version in ("before", "after")
    )
    assert len(before) == len(after) == 40
    assert all(b < 0.5 * a for a, b in zip(before, after, strict=True))
    trace = tare.record(guide / "17-document/before", options=("--snapshots",))
    found = [f for f in tare.report(trace, "--lens", "wide-pointers")["findings"] if f["lens"] == "wide-pointers"]
    assert found
    # The library's functions are instances for types of an unnamed namespace, which have no mangled names.
    assert not [f["function"] for f in found if "/include/c++/" in f["file"]]


@pytest.fixture(scope="session")
def collected(guide: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (library,) = guide.parent.rglob("libtare.a")
    source = Path(__file__).parent / "programs/collected_types.cc"
    program = tmp_path_factory.mktemp("collected") / "collected"
    flags = ["-std=c++20", "-O1", "-g", f"-I{REPO}/include"]
    subprocess.run(["g++", *flags, source, library, "-o", program, "-lpthread"], check=True)
    return program


def test_types_of_a_collected_heap_are_counted_by_their_collector(collected: Path, tare: Tare) -> None:
    trace = tare.record(collected)
    told = {each["name"]: each for each in json.loads(tare("layout", "--trace", trace, "--json").stdout)["types"]}
    gapped = told["(anonymous namespace)::Gapped"]
    # 40 bytes and 4 of header lie in cells of 48, 24 and 4 in 32
    assert (gapped["objects_peak"], gapped["saved_bytes_peak"], gapped["certainty"]) == (60_000, 16 * 60_000, "high")
    found = [each for each in tare.report(trace, "--lens", "padding")["findings"] if each["lens"] == "padding"]
    assert sum(each["bytes_peak"] for each in found) == pytest.approx(16 * 60_000, rel=0.01)
    assert all("Gapped" in each["remedy"] for each in found)
    shown = tare("report", trace, "--lens", "padding").stdout
    assert "the collector counted its objects" in " ".join(shown.split())
    assert "tare::gc::Heap/" not in tare("report", trace, "--mode", "dark-matter").stdout, "no belief of the program's"


def test_types_of_collected_objects_are_named_by_what_makes_them(collected: Path, tare: Tare) -> None:
    trace = tare.record(collected, env={"TARE_GC_RECORD": "objects"})
    told = {each["name"]: each for each in json.loads(tare("layout", "--trace", trace, "--json").stdout)["types"]}
    gapped = told["(anonymous namespace)::Gapped"]
    assert (gapped["objects_peak"], gapped["saved_bytes_peak"], gapped["certainty"]) == (60_000, 16 * 60_000, "high")
    found = [each for each in tare.report(trace, "--lens", "padding")["findings"] if each["lens"] == "padding"]
    assert [each["bytes_peak"] for each in found] == [16 * 60_000]
    assert "Gapped" in found[0]["remedy"]


def test_a_collected_heap_is_a_pool_of_pages_or_of_objects(guide: Path, tare: Tare) -> None:
    program = guide / "17-document/after"
    pages = tare.record(program, name="pages.tare")
    objects = tare.record(program, name="objects.tare", env={"TARE_GC_RECORD": "objects"})
    by_api = "select sum(peak_blocks) as blocks, sum(peak_blocks * requested_bytes) as bytes from site_sizes where api = 'pool block'"
    ((of_pages,), (of_objects,)) = (tare.sql(trace, by_api) for trace in (pages, objects))
    assert of_objects["blocks"] > 2 * of_pages["blocks"], "nodes and arrays instead of pages, beside the atoms"
    for trace in (pages, objects):
        report = tare.report(trace)
        assert report["impossible_events"] == 0
        assert report["end"]["blocks"] < 10, "the heap's pages and objects end with it"


def test_pages_and_objects_are_the_same_memory(collected: Path, tare: Tare) -> None:
    """Of a program that keeps what it makes: how much garbage waits for its collection is a matter of the clock, as a heap
    plans by how long marking took. Of the documents of guide/17 a busy machine left more than a quarter more."""
    pages = tare.record(collected, name="pages.tare")
    objects = tare.record(collected, name="objects.tare", env={"TARE_GC_RECORD": "objects"})
    gross = [tare.report(trace)["peak"]["gross_bytes"] for trace in (pages, objects)]
    assert gross[1] == pytest.approx(gross[0], rel=0.05), "told of in other pieces"
