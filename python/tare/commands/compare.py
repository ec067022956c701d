"""`tare compare`: is the changed program faster? Both commands unrecorded, interleaved, as ratios with their spread."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.commands.options import add_json, add_runs
from tare.errors import COMMAND_NOT_FOUND, IO, USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

SYNOPSIS = "tare compare [--runs N] [--json] -- BEFORE [ARG ...] -- AFTER [ARG ...]"
HELP = (
    "Runs both commands in turn without the recorder. Prints after / before for CPU time, wall time, peak RSS and page\n"
    "faults: the median of the pairs, and the range. Malloc calls are counted by one recorded run of each command. The\n"
    "output of the commands is discarded. If a command fails, the comparison ends."
)
EXAMPLES = """
tare compare -- ./app-old input -- ./app-new input
tare compare --runs 20 --json -- python3.11 job.py -- python3.12 job.py
"""

_RUNS = 7


class Sample(NamedTuple):
    """One unrecorded run."""

    cpu: float
    wall: float
    rss: float
    faults: float


class Ratio(NamedTuple):
    metric: str
    unit: str
    before: float  # medians
    after: float
    ratio: float | None  # median of the pairs' ratios; null where before is 0
    low: float | None
    high: float | None


_METRICS = (("cpu", "s"), ("wall", "s"), ("rss", "bytes"), ("faults", ""))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_runs(parser, _RUNS, "pairs of runs")
    parser.add_argument(
        "--no-record",
        action="store_true",
        help="don't count malloc calls, which saves one recorded run of each command",
    )
    add_json(parser, "print the same as JSON, with every run")


def run(options: argparse.Namespace) -> int:
    commands = split(options.after_dashes or [])
    samples = interleave(commands, options.runs)
    ratios = [
        ratio_of(metric, unit, [getattr(s, metric) for s in samples[0]], [getattr(s, metric) for s in samples[1]])
        for metric, unit in _METRICS
    ]
    if not options.no_record:
        calls = [malloc_calls(command) for command in commands]
        if None not in calls:
            ratios.append(ratio_of("malloc calls", "", [float(calls[0] or 0)], [float(calls[1] or 0)]))
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(commands, samples, ratios)))
    else:
        from tare.text.terminal import width_of

        say(lines(commands, ratios, options.runs, width_of(sys.stdout)))
    return 0


def split(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" in words:
        at = words.index("--")
        before, after = words[:at], words[at + 1 :]
        if before and after:
            return before, after
    raise TareError(USAGE, "compare: needs two commands: tare compare -- BEFORE [ARG ...] -- AFTER [ARG ...]")


def interleave(commands: tuple[list[str], list[str]], runs: int) -> tuple[list[Sample], list[Sample]]:
    """before, after, after, before, ...: a drift of the machine hits both; the first pair only warms the caches."""
    from tare.progress import Progress

    samples: tuple[list[Sample], list[Sample]] = ([], [])
    with Progress("comparing") as progress:
        for number in range(-1, runs):
            for which in (0, 1) if number % 2 else (1, 0):
                sample = measure(commands[which])
                if number >= 0:
                    samples[which].append(sample)
            progress.update((number + 2) / (runs + 1), f"run {number + 1} of {runs}")
    return samples


def measure(command: list[str]) -> Sample:
    """Runs a command without recorder or output; the figures are of it and of the children it waited for."""
    from tare.installation import beside_core

    helper = beside_core("tare-measure")
    answer, report = os.pipe()
    os.set_inheritable(report, True)
    try:
        pid = os.posix_spawn(helper, [helper, str(report), *command], os.environ)
    finally:
        os.close(report)
    with os.fdopen(answer) as stream:
        fields = stream.read().split()
    os.waitpid(pid, 0)
    if not fields or fields[0] == "E":
        why = os.strerror(int(fields[1])) if fields else "the helper died"
        raise TareError(COMMAND_NOT_FOUND, f"compare: can't start {command[0]}: {why}")
    status, user_us, system_us, wall_ns, rss_kib, minor, major = map(int, fields)
    _check_success(command, status)
    return Sample((user_us + system_us) / 1e6, wall_ns / 1e9, rss_kib * 1024.0, float(minor + major))


def _check_success(command: list[str], wait_status: int) -> None:
    import signal

    code = os.waitstatus_to_exitcode(wait_status)
    if code == -signal.SIGINT:  # Ctrl-C, which reached us, too
        raise KeyboardInterrupt
    if code:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        raise TareError(IO, f"compare: '{' '.join(command)}' {how}: run it alone to see why")


def ratio_of(metric: str, unit: str, before: list[float], after: list[float]) -> Ratio:
    from statistics import median

    pairs = [b / a for a, b in zip(before, after, strict=True) if a > 0]
    spread = (median(pairs), min(pairs), max(pairs)) if pairs else (None, None, None)
    return Ratio(metric, unit, median(before), median(after), *spread)


def malloc_calls(command: list[str]) -> int | None:
    """Successful allocations of one recorded run, all of its processes together; none where it can't be recorded."""
    from tare import _core, interrupt
    from tare.analysis.recording import Recording
    from tare.installation import recorder_library
    from tare.source.core_source import CoreSource
    from tare.source.scratch import scratch_folder

    with scratch_folder("tare-compare-") as folder:
        null = os.open(os.devnull, os.O_RDWR)
        kept = [os.dup(fd) for fd in (0, 1, 2)]
        try:
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            outcome = _core.run(
                command=command,
                output=f"{folder}/run.tare",
                recorder_library=recorder_library(),
                sample_bytes=0,
                budget=(0, 0, 0),
                wait_for_all=True,
                record_environment=False,
                record_free_stacks=False,
                record_contents=False,
                take_snapshots=False,
                summarize=True,
                start_paused=False,
                snapshot_signal=0,
                max_segment_bytes=0,
                keep_segments=0,
                interrupted=interrupt.came,
                progress=None,
            )
        except TareError:
            return None
        finally:
            for fd, saved in zip((0, 1, 2), kept, strict=True):
                os.dup2(saved, fd)
                os.close(saved)
            os.close(null)
        _check_success(command, outcome.wait_status)
        processes = [Recording(CoreSource(image.path)).process for image in outcome.images]
        calls: int = sum(process["alloc_events"] + process["realloc_events"] for process in processes)
        return calls


_WIDE = 80  # columns of a row with the longest verdict


def lines(commands: tuple[list[str], list[str]], ratios: list[Ratio], runs: int, width: int) -> Iterator[str]:
    from tare.reports.table import Column, table
    from tare.reports.text_parts import wrapped

    yield from wrapped(f"before: {' '.join(commands[0])}", width)
    yield from wrapped(f"after:  {' '.join(commands[1])}", width)
    yield from wrapped(f"{runs} interleaved runs of each, unrecorded; ratio = after / before, median [range]", width)
    if width < _WIDE:
        for each in ratios:
            yield f"{each.metric}: {_value(each.before, each.unit)} -> {_value(each.after, each.unit)}"
            yield from wrapped(_spread(each), width, "  ")
        return
    heads = [
        Column("", "left", keep=True),
        Column("before", keep=True),
        Column("after", keep=True),
        Column("ratio", "left", keep=True),
    ]
    rows = [
        [each.metric, _value(each.before, each.unit), _value(each.after, each.unit), _spread(each)] for each in ratios
    ]
    yield from table(heads, rows, width)


def _value(value: float, unit: str) -> str:
    from tare.text.units import duration, human_bytes, human_count

    return duration(value * 1e9) if unit == "s" else human_bytes(value) if unit == "bytes" else human_count(value)


def _spread(ratio: Ratio) -> str:
    if ratio.ratio is None or ratio.low is None or ratio.high is None:
        return "-"
    if ratio.low == ratio.high:
        return f"{ratio.ratio:.3f}"
    verdict = "less" if ratio.high < 1 else "more" if ratio.low > 1 else "no clear change"
    return f"{ratio.ratio:.3f} [{ratio.low:.3f} .. {ratio.high:.3f}]  {verdict}"


def as_json(
    commands: tuple[list[str], list[str]], samples: tuple[list[Sample], list[Sample]], ratios: list[Ratio]
) -> dict[str, Any]:
    return {
        "before": {"command": commands[0], "runs": [sample._asdict() for sample in samples[0]]},
        "after": {"command": commands[1], "runs": [sample._asdict() for sample in samples[1]]},
        "ratios": [ratio._asdict() for ratio in ratios],
    }
