"""`tare run`: records a program and its descendants, then shows one screen of what was found."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.errors import COMMAND_NOT_FOUND, INTERNAL, USAGE, TareError
from tare.printable import say

if TYPE_CHECKING:
    import argparse

    from tare import _core

SYNOPSIS = "tare run [-o FILE] [options] -- CMD [ARG ...]"
HELP = (
    "Runs a program under the recorder. Its input, output and exit status stay its own; a summary goes to stderr.\n"
    "Children are recorded too: FILE is the first process's last image, FILE.PID are the others. Those with little to say\n"
    "are all in FILE.short."
)
EXAMPLES = """
tare run -- ./app --flag
tare run -o app.tare -- python3 script.py
tare run --sample 512K -- ./server        long runs: one allocation in 512 KiB, figures scaled
tare run --content -- ./app               look into blocks, too: what of them is never written
tare run --content=unwritten -- ./app     only what this lens needs: no stops to look into live blocks
tare run -q -o app.tare -- make -j4       record a build, no summary
tare run --start-paused -- ./server       asleep until `tare resume PID`
"""


_EVERYTHING = "*"  # --content without lenses
_MOST_WARNINGS = 5  # one a process can be hundreds; the first say what is wrong


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", default="", help="the trace (default: tare.PROGRAM.PID.tare)")
    parser.add_argument(
        "--sample", metavar="BYTES", default="0", help="record one allocation in BYTES on average (512K, 4M)"
    )
    parser.add_argument("--no-wait", action="store_true", help="don't wait for processes that outlive the command")
    parser.add_argument("--env", action="store_true", help="keep the environment in the trace (it may hold secrets)")
    parser.add_argument("--free-stacks", action="store_true", help="record where blocks are freed, too")
    parser.add_argument(
        "--content",
        nargs="?",
        const=_EVERYTHING,
        default="",
        metavar="LENS,...",
        help="look into blocks, too: fills them when allocated, so costs and perturbs more; with lenses only what these need",
    )
    parser.add_argument(
        "--snapshots", action="store_true", help="look into live blocks near the peak and at the exit (short stops)"
    )
    parser.add_argument(
        "--start-paused", action="store_true", help="record nothing until `tare resume PID` (or `tare attach PID`)"
    )
    parser.add_argument(
        "--snapshot-signal",
        metavar="SIGNAL",
        default="",
        help="sent to `tare run`: look into CMD's live blocks then (USR1, USR2), as moments signal-1, signal-2, ...",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary")
    parser.add_argument("command", nargs="...", metavar="CMD", help="the program and its arguments")


def run(options: argparse.Namespace) -> int:
    _tell_lenses_from_command(options)
    command = options.command + (options.after_dashes or [])
    if not command:
        raise TareError(USAGE, "run: no program given: tare run -- CMD [ARG ...]")
    try:
        outcome = launch(command, options)
    except TareError as error:
        # whatever else failed, the program wasn't started: scripts must not take it for the program's own status
        error.status = 127 if error.kind == COMMAND_NOT_FOUND else 125
        raise
    try:
        tell(outcome, with_summary=not options.quiet)
    except OSError:
        # stderr is full or nobody reads it. The program's status still counts, and Python's flush at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return end_like(outcome.wait_status)


def tell(outcome: _core.Outcome, *, with_summary: bool) -> None:
    for warning in outcome.warnings[:_MOST_WARNINGS]:
        say([f"tare: {warning}"], sys.stderr)
    if len(outcome.warnings) > _MOST_WARNINGS:
        say([f"tare: ({len(outcome.warnings) - _MOST_WARNINGS} more warnings)"], sys.stderr)
    if outcome.failure:
        say([f"tare: {outcome.failure}"], sys.stderr)
    if outcome.images and with_summary:
        _summarize(outcome)


def _tell_lenses_from_command(options: argparse.Namespace) -> None:
    """`--content ./app`: what follows is no lens, but the program."""
    from tare import lenses

    named = options.content.split(",") if options.content != _EVERYTHING else []
    if any(name not in lenses.NAMES for name in named if name) and options.after_dashes is None:
        options.command.insert(0, options.content)
        options.content = _EVERYTHING


def _contents_and_moments(content: str, *, snapshots: bool) -> tuple[bool, bool]:
    """Whether blocks are filled and looked at when they end, and whether live ones are looked into."""
    from tare import lenses

    if content in ("", _EVERYTHING):
        return bool(content), bool(content) or snapshots
    needs = {lens.needs for lens in lenses.load_named(content)}
    return "contents" in needs, "moments" in needs or snapshots


def launch(command: list[str], options: argparse.Namespace) -> _core.Outcome:
    from tare import _core
    from tare.sizes import parse_bytes

    contents, moments = _contents_and_moments(options.content, snapshots=options.snapshots)
    return _core.run(
        command=command,
        output=options.output,
        recorder_library=recorder_library(),
        sample_bytes=parse_bytes(options.sample, "--sample"),
        wait_for_all=not options.no_wait,
        record_environment=options.env,
        record_free_stacks=options.free_stacks,
        record_contents=contents,
        take_moments=moments,
        summarize=not options.quiet,
        start_paused=options.start_paused,
        snapshot_signal=_signal_number(options.snapshot_signal),
        progress=None,
    )


def _signal_number(name: str) -> int:
    import signal

    if not name:
        return 0
    if (wanted := name.upper().removeprefix("SIG")) not in ("USR1", "USR2"):
        raise TareError(USAGE, f"run: --snapshot-signal takes USR1 or USR2, not '{name}'")
    return int(signal.Signals[f"SIG{wanted}"])


def recorder_library() -> str:
    return beside_core("libtare-record.so")


def beside_core(name: str) -> str:
    """A file of the package's own, installed beside its extension module."""
    from tare import _core

    path = os.path.join(os.path.dirname(os.path.abspath(_core.__file__)), name)
    if not os.path.exists(path):
        raise TareError(INTERNAL, f"{name} isn't where it was installed: {path} is missing")
    return path


def _summarize(outcome: _core.Outcome) -> None:
    """To stderr. Whatever goes wrong here is said there, and leaves the program's exit status alone."""
    import gc

    gc.disable()  # the process ends after this: looking for cycles was 15 of a summary's 220 ms
    from tare.core_source import CoreSource
    from tare.reports import run_summary
    from tare.terminal import Style, width_of

    images = [run_summary.Image(i.path, i.program, i.pid, i.events, i.file_bytes) for i in outcome.images]
    try:
        source = CoreSource(run_summary.subject(images).path, depth=1)  # a line is one frame
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
