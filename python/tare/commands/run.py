"""`tare run`: records a program and its descendants, then shows one screen of results."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.commands.options import DEFAULT_BUDGET, EVERYTHING, add_recording, add_sources
from tare.errors import COMMAND_NOT_FOUND, USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

    from tare import _core
    from tare.reports import run_summary

SYNOPSIS = "tare run [-o FILE] [options] -- CMD [ARG ...]"
HELP = (
    "Runs CMD with the recorder loaded. The program keeps its input, output and exit status. At the end, a summary is\n"
    "printed to stderr. FILE has the trace of the first process, FILE.PID of each child, FILE.short of all short children."
)
EXAMPLES = """
tare run -- ./app --flag
tare run -o app.tare -- python3 script.py
tare run --sample 512K -- ./server        long runs: one allocation in 512 KiB; figures are scaled
tare run --budget -- ./server             samples that take at most 0.5 % of the server's CPU time
tare run --content -- ./app               also find bytes that are never written, and duplicates
tare run --content=unwritten -- ./app     only what the lens `unwritten` needs
tare run --html --open -- ./app           graphs in the browser
tare run -q -o app.tare -- make -j4       record a build; no summary
tare run --start-paused -- ./server       record nothing until `tare resume PID`
tare run --max-size 256M --rotate 8 -- ./server           days: the newest 8 files of at most 256 MiB
"""


_LEAST_SEGMENT = 1 << 20
_SAMPLE_WITH_BUDGET = 512 << 10
_MOST_WARNINGS = 5  # a process may have hundreds; the first have the cause


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_recording(parser)
    parser.add_argument("--no-wait", action="store_true", help="don't wait for processes that outlive the command")
    parser.add_argument("--env", action="store_true", help="store the environment in the trace; it may hold secrets")
    parser.add_argument(
        "--start-paused", action="store_true", help="record nothing until `tare resume PID` or `tare attach PID`"
    )
    parser.add_argument(
        "--snapshot-signal",
        metavar="SIGNAL",
        default="",
        help="take a snapshot of CMD's live blocks when `tare run` gets this signal, USR1 or USR2; names: signal-1, ...",
    )
    parser.add_argument(
        "--allocators",
        metavar="FILE",
        action="append",
        default=[],
        help="TOML that describes an allocator linked into CMD; may be repeated",
    )
    parser.add_argument("--html", action="store_true", help="write a page with graphs, FILE.html, when CMD ends")
    parser.add_argument("--open", action="store_true", help="--html: show the page in the browser")
    add_sources(parser)
    parser.add_argument("command", nargs="...", metavar="CMD", help="the program and its arguments")


def segment_limits(options: argparse.Namespace, verb: str) -> tuple[int, int]:
    """Bytes of a segment and how many to keep; 0: one file, all."""
    from tare.text.sizes import parse_bytes

    max_bytes = parse_bytes(options.max_size, "--max-size")
    if not (options.rotate.isdecimal() and options.rotate.isascii() and int(options.rotate) < 1 << 31):
        raise TareError(USAGE, f"{verb}: --rotate needs a number of segments, such as 10: '{options.rotate}'")
    keep = int(options.rotate)
    if max_bytes and max_bytes < _LEAST_SEGMENT:
        raise TareError(USAGE, f"{verb}: --max-size needs at least 1M: '{options.max_size}'")
    if keep and not max_bytes:
        raise TareError(USAGE, f"{verb}: --rotate needs the size of a segment: add --max-size 64M")
    return max_bytes, keep


def run(options: argparse.Namespace) -> int:
    _separate_values_from_command(options)
    command = options.command + (options.after_dashes or [])
    if not command:
        raise TareError(USAGE, "run: missing program: tare run -- CMD [ARG ...]")
    if (options.open or options.sources) and not options.html:
        raise TareError(USAGE, "run: --open and --sources go with --html")
    try:
        outcome = launch(command, options)
    except TareError as error:
        # whatever else failed, the program wasn't started: scripts must not take it for the program's own status
        error.status = 127 if error.kind == COMMAND_NOT_FOUND else 125
        raise
    try:
        print_outcome(outcome, with_summary=not options.quiet)
        if options.html and outcome.images:
            _write_page(outcome, options)
    except OSError:
        # stderr is full or has no reader. The program's status still counts, and Python's flush at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return end_like(outcome.wait_status)


def print_outcome(outcome: _core.Outcome, *, with_summary: bool) -> None:
    for warning in outcome.warnings[:_MOST_WARNINGS]:
        say([f"tare: {warning}"], sys.stderr)
    if len(outcome.warnings) > _MOST_WARNINGS:
        say([f"tare: ({len(outcome.warnings) - _MOST_WARNINGS} more warnings)"], sys.stderr)
    if outcome.failure:
        say([f"tare: {outcome.failure}"], sys.stderr)
    say(_memory_kills(outcome, with_summary=with_summary), sys.stderr)
    if outcome.images and with_summary:
        _summarize(outcome)


def _memory_kills(outcome: _core.Outcome, *, with_summary: bool) -> list[str]:
    """A line for each process that the kernel killed for lack of memory; the summary has that of its subject."""
    killed = [image for image in outcome.images if image.memory_kill and image.memory_kill[0] != "unknown"]
    if not killed:
        return []
    from tare.reports.watched.memory_kill import sentence
    from tare.watch.oom import Verdict

    shown = _subject(outcome).path if with_summary else ""
    lines = []
    for image in killed:
        if image.path != shown and image.memory_kill:
            how = sentence(Verdict(*image.memory_kill), kind="recorded").replace("the process", "it", 1)
            lines.append(f"tare: {image.program} (pid {image.pid}): {how}")
    more = (
        [f"tare: ({len(lines) - _MOST_WARNINGS} more processes were killed so)"] if len(lines) > _MOST_WARNINGS else []
    )
    return lines[:_MOST_WARNINGS] + more


def sampling(options: argparse.Namespace, verb: str) -> tuple[int, tuple[float, int, int]]:
    """The first distance between samples, 0 without sampling, and the limits for which it widens."""
    from tare.text.sizes import parse_bytes

    sample_bytes = parse_bytes(options.sample, "--sample")
    if not options.budget:
        return sample_bytes, (0, 0, 0)
    from tare.watch import budget

    limits = budget.limits(options.budget, verb)
    if limits[2] and options.rotate != "0":
        raise TareError(USAGE, f"{verb}: --rotate limits the size on disk already: leave out disk={limits[2]}")
    return sample_bytes or _SAMPLE_WITH_BUDGET, limits


def _separate_values_from_command(options: argparse.Namespace) -> None:
    """`--content ./app` and `--budget ./app`: the next word is no value, but the program."""
    from tare import lenses

    if options.budget and "=" not in options.budget and options.after_dashes is None:
        options.command.insert(0, options.budget)
        options.budget = DEFAULT_BUDGET
    named = options.content.split(",") if options.content != EVERYTHING else []
    if any(name not in lenses.NAMES for name in named if name) and options.after_dashes is None:
        options.command.insert(0, options.content)
        options.content = EVERYTHING


def contents_and_snapshots(content: str, *, snapshots: bool) -> tuple[bool, bool]:
    """The two settings: fill blocks and read them at their end; read live blocks."""
    from tare import lenses

    if content in ("", EVERYTHING):
        return bool(content), bool(content) or snapshots
    needs = {lens.needs for lens in lenses.load_named(content)}
    return "contents" in needs, "snapshots" in needs or snapshots


def launch(command: list[str], options: argparse.Namespace) -> _core.Outcome:
    from tare import _core, interrupt
    from tare.installation import recorder_library

    max_segment_bytes, keep_segments = segment_limits(options, "run")
    sample_bytes, budget = sampling(options, "run")
    contents, snapshots = contents_and_snapshots(options.content, snapshots=options.snapshots)
    return _core.run(
        command=command,
        output=options.output,
        recorder_library=recorder_library(),
        sample_bytes=sample_bytes,
        budget=budget,
        wait_for_all=not options.no_wait,
        record_environment=options.env,
        record_free_stacks=options.free_stacks,
        record_contents=contents,
        take_snapshots=snapshots,
        summarize=not options.quiet,
        start_paused=options.start_paused,
        snapshot_signal=_signal_number(options.snapshot_signal),
        max_segment_bytes=max_segment_bytes,
        keep_segments=keep_segments,
        interrupted=interrupt.came,
        allocators=_allocator_table(options.allocators),
        progress=None,
    )


def _allocator_table(paths: list[str]) -> bytes:
    """The user's descriptions come first."""
    if not paths:
        from tare.allocators import prepared

        return prepared.table()
    from tare.allocators import table

    described = [each for path in paths for each in table.given(path)]
    return table.packed(described + table.shipped())


def _signal_number(name: str) -> int:
    if not name:
        return 0
    import signal

    if (wanted := name.upper().removeprefix("SIG")) not in ("USR1", "USR2"):
        raise TareError(USAGE, f"run: --snapshot-signal needs USR1 or USR2: '{name}'")
    return int(signal.Signals[f"SIG{wanted}"])


def _images(outcome: _core.Outcome) -> list[run_summary.Image]:
    from tare.reports.run_summary import Image

    return [Image(i.path, i.program, i.pid, i.events, i.file_bytes, i.earlier_segments) for i in outcome.images]


def _subject(outcome: _core.Outcome) -> run_summary.Image:
    from tare.reports.run_summary import subject

    return subject(_images(outcome))


def _summarize(outcome: _core.Outcome) -> None:
    """To stderr. Errors here are printed here, and leave the program's exit status alone."""
    import gc

    gc.disable()  # the process ends after this: looking for cycles was 15 of a summary's 220 ms
    from tare.analysis.recording import SITE_DEPTH
    from tare.reports import run_summary
    from tare.source.core_source import CoreSource
    from tare.text.terminal import Style, width_of

    images = _images(outcome)
    try:
        source = CoreSource(run_summary.subject(images).path, depth=1, outcome=outcome)  # a line is one frame
        if source.process()["contents_recorded"]:
            source.depth = SITE_DEPTH  # unwritten judges the whole site, as in a report
        short = run_summary.Short(*outcome.short_processes)
        lines = run_summary.lines(source, images, Style(sys.stderr), width_of(sys.stderr), short)
    except TareError as error:
        lines = [] if outcome.failure else [f"tare: {error.message}"]  # said already: one line a failure
    except MemoryError:
        lines = [f"tare: no memory left for a summary; raise the limit (ulimit -v): tare report {images[0].path}"]
    except Exception as error:
        if os.environ.get("TARE_DEBUG"):
            raise
        lines = [f"tare: bug: no summary: {type(error).__name__}: {error} (the trace is {images[0].path})"]
    say(lines, sys.stderr)


def _write_page(outcome: _core.Outcome, options: argparse.Namespace) -> None:
    """Of the process that the summary is about. A failure is printed and leaves the program's exit status alone."""
    from tare import lenses
    from tare.analysis.recording import Recording
    from tare.commands.output_file import write_page
    from tare.html import page
    from tare.source.core_source import CoreSource

    try:
        path = _subject(outcome).path
        source = CoreSource(path)
        recording = Recording(source, lenses.names_for([], source.process()))
        options.output = ""  # -o names the trace
        write_page(options, f"{path}.html", "run", lambda out: page.write(recording, out, with_sources=options.sources))
    except TareError as error:
        say([f"tare: {error.message}"], sys.stderr)
    except Exception as error:
        if os.environ.get("TARE_DEBUG"):
            raise
        say([f"tare: bug: no page: {type(error).__name__}: {error}"], sys.stderr)


def end_like(wait_status: int) -> int:
    """The program's exit status; a signal that killed it is repeated, so that shells and scripts see the same end."""
    if not os.WIFSIGNALED(wait_status):
        return os.waitstatus_to_exitcode(wait_status)
    import resource
    import signal

    number = os.WTERMSIG(wait_status)
    resource.setrlimit(
        resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1])
    )  # the program's core is enough
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    return 128 + number  # a signal that doesn't kill by default
