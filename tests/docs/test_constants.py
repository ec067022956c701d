"""Numbers that documents quote are the constants of the source."""

import ast
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

REPO = Path(__file__).resolve().parents[2]
UNITS = {
    "%": 0.01,
    "ns": 1.0,
    "us": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
Read = Callable[[str], str]


class Quote(NamedTuple):
    document: str  # a decision by its number
    pattern: str  # its group is the number, with its unit


class Constant(NamedTuple):
    name: str
    source: str
    pattern: str  # its group is an expression
    quotes: tuple[Quote, ...]
    scale: float = 1  # of the constant, for documents that quote a product


def cpp(name: str, source: str, *quotes: tuple[str, str], scale: float = 1, pattern: str = "") -> Constant:
    found = pattern or rf"\b{name} =\s*([^;]+);"
    return Constant(name, source, found, tuple(Quote(*each) for each in quotes), scale)


def python(name: str, source: str, *quotes: tuple[str, str]) -> Constant:
    return cpp(name, source, *quotes, pattern=rf"^{name} = ([\d_.]+)")


CHUNK_BYTES = 64 << 10
LAYOUTS = "python/tare/types/site_layouts.py"
CONSTANTS = (
    # core and front end
    cpp("kLeastShare", "src/core/recording/sizes_by_site.cc", (LAYOUTS, r"_LEAST_SHARE = ([\d.]+)")),
    cpp("kLeastBytes", "src/core/recording/sizes_by_site.cc", (LAYOUTS, r"_LEAST_BYTES = ([\d.]+)")),
    # recorder
    cpp(
        "kLongestWaitNs",
        "src/recorder/spool/chunks.cc",
        ("0008", r"waits for at most (\d+ s)\."),
        ("0008", r"once by (\d+ s)"),
    ),
    cpp("kLongestWaitNs", "src/recorder/spool/chunks.cc", ("docs/glossary.md", r"spool was full for (\d+ s)")),
    cpp("kLongestWaitNs", "src/recorder/spool/chunks.cc", ("docs/recording.md", r"(\d+ s) after")),
    cpp("kFirstBytes", "src/recorder/spool/chunks.cc", ("0107", r"starts with (\d+ KiB)")),
    cpp("kMostOthers", "src/recorder/events/threads.cc", ("0107", r"checks (four) other threads")),
    cpp("kStampGap", "src/recorder/arch/x86_64.h", *((each, r"([\d,]+) ticks") for each in ("0005", "0064", "0073"))),
    cpp("kDigests", "src/recorder/events/contents.h", ("0030", r"table of ([\d,]+) tags")),
    # spool
    cpp("kChunkBytes", "src/trace/spool/spool_layout.h", ("HACKING.md", r"(\d+ KiB) chunk")),
    cpp("kChunkBytes", "src/trace/spool/spool_layout.h", ("docs/glossary.md", r"\| chunk \| (\d+ KiB)")),
    cpp("kMaxChunks", "src/trace/spool/spool_layout.h", ("0009", r"spool's limit of (\d+ GiB)"), scale=CHUNK_BYTES),
    cpp(
        "kDefaultLaunchedChunks",
        "src/trace/spool/spool_layout.h",
        ("0009", r"At most (\d+ MiB) a process"),
        scale=CHUNK_BYTES,
    ),
    cpp(
        "kDefaultLaunchedChunks",
        "src/trace/spool/spool_layout.h",
        ("docs/recording.md", r"TARE_SPOOL_BYTES \|.*\((\d+ MiB)\)"),
        ("docs/long-life.md", r"more than (\d+ MiB) \(`TARE_SPOOL_BYTES`\)"),
        ("0120", r"at most (\d+ MiB)\."),
        scale=CHUNK_BYTES,
    ),
    cpp("kMaxFrames", "src/trace/spool/spool_layout.h", ("docs/recording.md", r"up to ([\d,]+) frames")),
    cpp("kMaxThreads", "src/trace/spool/spool_layout.h", ("0126", r"([\d,]+) at a time")),
    cpp("kUnwindGaps", "src/trace/spool/spool_layout.h", ("0123", r"\((\d+) entries\)")),
    cpp("kMost", "src/trace/model/own_ranges.h", ("0118", r"at most (\d+) ranges")),
    # launcher
    cpp("kLeast", "src/core/launcher/groups/memory_limit.cc", ("0120", r"at least (\d+ MiB)")),
    cpp(
        "share of the limit",
        "src/core/launcher/groups/memory_limit.cc",
        ("0120", r"1/(\d+) of the limit"),
        pattern=r"limit_bytes / (\d+),",
    ),
    cpp("kWindowChunks", "src/core/drain/live_spool.h", ("0119", r"maps (\d+ MiB) of a spool"), scale=CHUNK_BYTES),
    cpp("kFirstControls", "src/core/drain/live_spool.cc", ("0119", r"controls of ([\d,]+) chunks")),
    cpp("kFloorBytes", "src/core/drain/snapshot_schedule.h", ("0033", r"at least (\d+ MiB)")),
    cpp(
        "kGrowth - 1", "src/core/drain/snapshot_schedule.h", ("0033", r"(\d+ %) larger"), pattern=r"kGrowth = 1(\.\d+);"
    ),
    cpp(
        "kGrowth - 1",
        "src/core/drain/snapshot_schedule.h",
        ("docs/recording.md", r"(\d+ %) larger"),
        pattern=r"kGrowth = 1(\.\d+);",
    ),
    cpp(
        "kCpuBudget",
        "src/core/drain/snapshot_schedule.h",
        ("0033", r"may reach (\d+ %)"),
        ("0033", r"use (\d+ %) of CPU"),
    ),
    cpp("kWallBudget", "src/core/drain/snapshot_schedule.h", ("0033", r"plus (\d+ %) of its wall")),
    cpp("kFirstAllowanceNs", "src/core/drain/snapshot_schedule.h", ("0033", r"plus (\d+ ms)")),
    cpp(
        "kShortRunNs",
        "src/core/drain/snapshot_schedule.h",
        ("0472", r"half of the first (\d+ s)"),
        ("docs/recording.md", r"half of the first (\d+ s)"),
    ),
    cpp("kStandsNs", "src/core/drain/snapshot_schedule.h", ("0472", r"grown for (\d+ ms)")),
    cpp("kFallen", "src/core/drain/snapshot_schedule.h", ("0472", r"below (\d+ %)")),
    cpp("kMostCostNsPerByte", "src/core/drain/snapshot_schedule.h", ("0472", r"at most (\d+) ns")),
    cpp(
        "_NEARER - 1",
        "python/tare/lenses/used_snapshots.py",
        ("0472", r"exit has (\d+ %) more"),
        pattern=r"_NEARER = 1(\.\d+)",
    ),
    cpp(
        "kBatchEvents", "src/trace/open/block_merger.cc", ("docs/style.md", r"at least ([\d,]+) merged events"), scale=4
    ),
    # replay, reports
    cpp("kMostEvents", "src/core/analysis/short_lives.h", ("0090", r"looks ([\d,]+) events ahead")),
    cpp("kWindow", "src/core/analysis/growth_ring.h", ("0095", r"at most the last (\d+)")),
    cpp("kDefaultDepth", "src/core/sites/sites.h", ("docs/glossary.md", r"its (\d+) innermost frames")),
    cpp("kMostRows", "src/core/analysis/timeline.h", ("src/core/columns/schema/process.def", r"at most ([\d,]+) rows")),
    python("MOST_ROWS", "python/tare/source/small_database.py", ("0088", r"more than ([\d,]+) rows")),
    python("_LOOKED_ALIKE", "python/tare/analysis/recording.py", ("0032", r"first (\d+) findings")),
    python("_LAUNCHERS_SHARE", "python/tare/live/live_figures.py", ("0071", r"this time is (\d+ %)")),
    # files of others
    cpp(
        "of a trace",
        "src/trace/base/expansion.h",
        ("0106", r"to (\d+ MiB) plus"),
        pattern=r"most_unpacked_bytes[^;]*?\{(\d+)\} << 20",
        scale=2**20,
    ),
    cpp(
        "a byte of it",
        "src/trace/base/expansion.h",
        ("0106", r"plus (\d+) bytes for"),
        pattern=r"most_unpacked_bytes[^;]*?<< 48\) \* (\d+)",
    ),
    cpp(
        "of replay",
        "src/trace/base/expansion.h",
        ("0106", r"grown by (\d+ MiB)"),
        pattern=r"most_resident_growth[^;]*?\{(\d+)\} << 20",
        scale=2**20,
    ),
    cpp(
        "of caches",
        "src/trace/base/expansion.h",
        ("0125", r"to (\d+ MiB) plus 256"),
        pattern=r"most_unpacked_bytes[^;]*?\{(\d+)\} << 20",
        scale=2**20,
    ),
    cpp(
        "of debug sections",
        "src/core/symbols/elf_file.cc",
        ("0125", r"unpack to (\d+ MiB)"),
        pattern=r"\{(\d+)\} << 20\) \+",
        scale=2**20,
    ),
    cpp(
        "a byte of the file",
        "src/core/symbols/elf_file.cc",
        ("0125", r"plus (\d+) times"),
        pattern=r"\+ (\d+) \* image",
    ),
    cpp("kMostReadableBytes", "src/core/demangle/bounded_cxx_demangler.h", ("0111", r"after (\d+ KiB)")),
    cpp("kMostNs", "src/core/demangle/bounded_cxx_demangler.cc", ("0111", r"after ([\d.]+ s),")),
    cpp("kFewReferences", "src/core/demangle/bounded_cxx_demangler.cc", ("0111", r"more than (\d+) references")),
    cpp("-timeout", "tools/fuzz.sh", ("0125", r"or (\d+) s for"), pattern=r"of_readers=.*-timeout=(\d+)"),
    cpp("-timeout", "tools/fuzz.sh", ("fuzz/README.md", r"at (\d+) s,"), pattern=r"of_readers=.*-timeout=(\d+)"),
    cpp(
        "-rss_limit_mb",
        "tools/fuzz.sh",
        ("fuzz/README.md", r"above (\d+ GiB)"),
        ("0125", r"above (\d+ GiB)"),
        pattern=r"of_readers=.*-rss_limit_mb=(\d+)",
        scale=2**20,
    ),
    # replaying calls
    cpp("kWindowSteps", "src/allocator_replay/script/call_script.h", ("0058", r"within ([\d,]+) steps")),
    cpp(
        "kWindowSteps",
        "src/allocator_replay/script/call_script.h",
        ("src/allocator_replay/script/README.md", r"\(([\d,]+)\) steps"),
    ),
    cpp(
        "kWindowSteps",
        "src/allocator_replay/script/call_script.h",
        ("src/allocator_replay/perform/README.md", r"within ([\d,]+) steps"),
    ),
    # library
    cpp("kWanted", "src/lib/atoms/range.cc", ("0035", r"addresses (\d+ GiB)")),
    cpp("kLeast", "src/lib/atoms/range.cc", ("0035", r"at least (\d+ MiB)")),
    cpp("kKept", "src/lib/atoms/range.cc", ("0037", r"keeps up to (\d+ KiB)")),
    cpp("kAtomsAtOnce", "src/lib/atoms/table.cc", ("0038", r"as have ([\d,]+) atoms")),
    cpp("kAhead", "src/lib/gc/marking/marker.cc", ("0043", r"into the object, (\d+) objects ahead")),
    cpp("kMostEnd", "src/lib/gc/marking/marker.cc", ("0043", r"line (\d+) bytes into")),
    cpp("kPartBytes", "src/lib/gc/heap/heap_impl.h", ("0049", r"a part of (\d+) bytes")),
    cpp(
        "kCageSlots",
        "include/tare/internal/gc/cage_bases.h",
        ("0114", r"The (\d+) slots"),
        ("docs/glossary.md", r"one of (\d+) indexes"),
    ),
)
WORDS = {"four": 4.0}
OPERATORS = {
    ast.LShift: operator.lshift,
    ast.Mult: operator.mul,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.RShift: operator.rshift,
}


def value(expression: str) -> float:
    """A C++ constant expression of numbers: 64 << 10, std::size_t{32} << 30, 100'000'000."""
    plain = re.sub(r"std::\w+\{(\w+)\}", r"\1", expression.strip()).replace("'", "")

    def computed(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        assert isinstance(node, ast.BinOp), f"no constant expression: {expression}"
        return float(OPERATORS[type(node.op)](int(computed(node.left)), int(computed(node.right))))

    return float(computed(ast.parse(re.sub(r"\b(\d+)[uUlL]+\b", r"\1", plain), mode="eval").body))


def quantity(text: str) -> float:
    """`64 KiB`, `100 ms`, `4 %`, `16,384`: in bytes, ns, shares and counts."""
    if text in WORDS:
        return WORDS[text]
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * (UNITS[unit] if unit else 1)


def read_file(name: str) -> str:
    if re.fullmatch(r"\d{4}", name):
        (path,) = (REPO / "docs/decisions").glob(f"{name}-*.md")
        return " ".join(path.read_text(encoding="utf-8").split())
    return (REPO / name).read_text(encoding="utf-8")


def disagreements(constant: Constant, read: Read = read_file) -> list[str]:
    found = re.search(constant.pattern, read(constant.source), re.MULTILINE)
    assert found, f"{constant.source} has no {constant.name}: adapt this test"
    actual = value(found[1]) * constant.scale
    wrong = []
    for quote in constant.quotes:
        quoted = re.search(quote.pattern, read(quote.document))
        if quoted is None:
            wrong.append(f"{quote.document}: nothing matches {quote.pattern}")
        elif abs(quantity(quoted[1]) - actual) > 1e-9 * actual:
            wrong.append(f"{quote.document}: '{quoted[0]}', but {constant.source} has {constant.name} {found[1]}")
    return wrong


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda each: f"{each.name}-{each.quotes[0].document}")
def test_documents_quote_the_constant(constant: Constant) -> None:
    assert disagreements(constant) == []


@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda each: f"{each.name}-{each.quotes[0].document}")
def test_another_value_in_the_source_is_noticed(constant: Constant) -> None:
    """Each quote disagrees with a source whose constant is twice as large."""

    def read(name: str) -> str:
        text = read_file(name)
        found = re.search(constant.pattern, text, re.MULTILINE) if name == constant.source else None
        if found is None:
            return text
        return text[: found.start(1)] + f"{2 * value(found[1]):g}".lstrip("0") + text[found.end(1) :]

    assert len(disagreements(constant, read)) == len(constant.quotes)
