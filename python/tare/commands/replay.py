"""`tare replay`: the calls of a recording performed again, against real allocators."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from tare.allocator_replay.allocators import GLIBC, Allocator, find, installed
from tare.commands.options import add_json, add_runs
from tare.errors import USAGE, TareError
from tare.progress import Progress
from tare.reports.table import Column, table
from tare.text.printable import say
from tare.text.terminal import width_of
from tare.text.units import exact, human_bytes, human_count, percent
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.allocator_replay.performance import Performance
    from tare.allocator_replay.scripts import Recorded, Script

SYNOPSIS = "tare replay FILE [--allocator NAME|PATH,...] [--runs N] [--speed X] [--json]"
HELP = (
    "Repeats the allocations, reallocs and frees of a recording under each allocator, with the same threads, order and\n"
    "sizes, and writes to the blocks as the program did. Shows which allocator needs the least memory or time for this\n"
    "program. The program itself isn't run."
)
EXAMPLES = """
tare replay app.tare                                  all installed allocators
tare replay app.tare --allocator glibc,jemalloc
tare replay app.tare --allocator /opt/libmine.so --runs 5
tare replay app.tare --speed 1                        at the recorded speed, for allocators that free pages after a time
MALLOC_ARENA_MAX=1 tare replay app.tare --allocator glibc    allocators read their environment variables
"""

_RUNS = 3
_COURSE_CELLS = 24
_BARS = "▁▂▃▄▅▆▇█"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace")
    parser.add_argument(
        "--allocator",
        metavar="NAME|PATH,...",
        help="glibc, jemalloc, mimalloc, tcmalloc, or paths of libraries (default: all that are installed)",
    )
    add_runs(parser, _RUNS, "runs of each allocator, for medians")
    parser.add_argument(
        "--speed", type=float, default=0.0, metavar="X", help="X times the recorded speed (default: without pauses)"
    )
    add_json(parser, "print everything as one JSON object, with RSS over time")


def run(options: argparse.Namespace) -> int:
    from tare.allocator_replay.performance import middle, perform, without
    from tare.allocator_replay.scripts import write_scripts
    from tare.source.scratch import scratch_folder

    if not 0 <= options.speed < float("inf"):
        raise TareError(USAGE, f"replay: --speed needs a number from 0 on: '{options.speed}'")
    chosen = [find(name) for name in options.allocator.split(",")] if options.allocator is not None else installed()
    chosen = list({each.library: each for each in reversed(chosen)}.values())[::-1]  # by whichever name came first
    with scratch_folder("tare-replay-") as folder:
        (facts,), recorded = write_scripts(options.file, [(os.path.join(folder, "script"), [])])
        script = facts.path
        reference = _reference(recorded, chosen)
        wanted = chosen if reference is None or reference in chosen else [*chosen, reference]
        performed: dict[Allocator, list[Performance]] = {each: [] for each in wanted}
        with Progress("performing") as progress:
            own = middle(
                [
                    perform(script, Allocator(GLIBC, ""), speed=0, calling=False, beside=recorded.shared)
                    for _ in range(options.runs)
                ]
            )
            for number in range(options.runs):
                for place, allocator in enumerate(wanted):
                    done = (number * len(wanted) + place) / (options.runs * len(wanted))
                    progress.update(done, allocator.name)
                    performed[allocator].append(perform(script, allocator, speed=options.speed, beside=recorded.shared))
    results = {allocator: without(middle(runs), own) for allocator, runs in performed.items()}
    shown = sorted((results[each] for each in chosen), key=lambda each: each.peak_rss_bytes)
    outside = recorded.outside_heap(results.get(reference) if reference else None)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(facts, recorded, shown, outside)))
    else:
        say(lines(facts, shown, outside, width_of(sys.stdout)))
    return 0


def _reference(recorded: Recorded, chosen: list[Allocator]) -> Allocator | None:
    """The allocator of the recording: how it fares here ties the heap's figures to the program's."""
    if recorded.peak_rss_bytes is None:
        return None
    for each in chosen:
        if os.path.realpath(each.library) == os.path.realpath(recorded.allocator.library):
            return each
    return recorded.allocator if recorded.allocator_exists else None


def lines(facts: Script, shown: list[Performance], outside: float | None, columns: int) -> Iterator[str]:
    threads = "1 thread" if facts.threads == 1 else f"{exact(facts.threads)} threads"
    yield from wrap(
        f"{human_count(facts.steps)} calls of {threads}, {human_bytes(facts.live_bytes)} requested and live at the peak",
        columns,
    )
    yield ""
    heads = [
        Column("", "left", keep=True),
        Column("heap RSS\npeak", keep=True),
        Column("over\nlive"),
        Column("slop at\npeak"),
        Column("program\npeak"),
        Column("\nCPU"),
        Column("page\nfaults"),
        Column("", "left"),
    ]
    rows = [
        [
            each.allocator,
            human_bytes(each.peak_rss_bytes),
            _signed_percent(each.rss_at_peak_bytes - facts.live_bytes, facts.live_bytes),
            percent(each.usable_at_peak_bytes - facts.live_bytes, each.usable_at_peak_bytes),
            "-" if outside is None else human_bytes(outside + each.in_program_bytes),
            f"{each.cpu_s:.2f} s",
            human_count(each.faults),
            course(each, facts),
        ]
        for each in shown
    ]
    yield from table(heads, rows, columns)
    yield ""
    yield from notes(facts, shown, outside, columns)


def _signed_percent(part: float, whole: float) -> str:
    """Of small heaps less may be resident than is live: blocks that were never written, and the kernel counts in batches."""
    return ("+" if part >= 0 else "") + percent(part, whole)


def notes(facts: Script, shown: list[Performance], outside: float | None, columns: int) -> Iterator[str]:
    said = ["over live: RSS beyond the requested bytes of live blocks: slop, headers, free lists, partly empty pages"]
    if outside is not None:
        said.append(
            "program peak: the recorded RSS with this allocator's heap and library instead of the recorded ones"
        )
    else:
        said.append(
            "program peak: unknown, because the recording has no peak RSS, or its allocator isn't installed, or the program touched"
            " only a part of the blocks that the performed calls write (tare run --content records that part)"
        )
    if facts.foreign_frees:
        said.append(
            f"{exact(facts.foreign_frees)} frees are left out: the allocations of their blocks weren't recorded"
        )
    if facts.reborn_blocks:
        said.append(
            f"{exact(facts.reborn_blocks)} blocks are freed late, when their address is reused: their frees weren't recorded"
        )
    for each in shown:
        if each.failed_calls:
            said.append(f"{each.allocator} refused {exact(each.failed_calls)} calls")
    for text in said:
        yield from wrap(text, columns, subsequent_indent="  ")


def course(performed: Performance, facts: Script) -> str:
    """RSS over the calls, a bar each; all allocators' to one scale would hide how each of them falls."""
    if not performed.rss:
        return ""
    cells = [0.0] * _COURSE_CELLS
    for sample in performed.rss:
        cell = min(sample.order * _COURSE_CELLS // max(facts.steps, 1), _COURSE_CELLS - 1)
        cells[cell] = max(cells[cell], sample.bytes)
    last = 0.0
    for i, size in enumerate(cells):  # between samples nothing is known: as before
        cells[i] = last = size or last
    top = max(cells) or 1.0
    return "".join(_BARS[min(int(size / top * len(_BARS)), len(_BARS) - 1)] for size in cells)


def as_json(facts: Script, recorded: Recorded, shown: list[Performance], outside: float | None) -> dict[str, Any]:
    return {
        "calls": facts.steps,
        "threads": facts.threads,
        "live_requested_bytes": facts.live_bytes,
        "duration_ns": facts.duration_ns,
        "foreign_frees": facts.foreign_frees,
        "reborn_blocks": facts.reborn_blocks,
        "recorded_allocator": recorded.allocator.name,
        "program_peak_rss_bytes": recorded.peak_rss_bytes,
        "allocators": [
            {
                "name": each.allocator,
                "library": each.library,
                "peak_heap_rss_bytes": round(each.peak_rss_bytes),
                "heap_rss_at_peak_bytes": round(each.rss_at_peak_bytes),
                "usable_at_peak_bytes": round(each.usable_at_peak_bytes),
                "predicted_peak_rss_bytes": None if outside is None else round(outside + each.in_program_bytes),
                "cpu_s": each.cpu_s,
                "wall_s": each.wall_s,
                "faults": round(each.faults),
                "failed_calls": each.failed_calls,
                "rss": [{"ns": one.ns, "calls": one.order, "heap_rss_bytes": round(one.bytes)} for one in each.rss],
            }
            for each in shown
        ],
    }
