"""`tare attach`: becomes the launcher of a running program. The core loads the recorder into it if it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.commands.options import EVERYTHING, add_recording, seconds
from tare.errors import CANNOT_RECORD, USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare attach PID [-o FILE] [options]"
HELP = (
    "Records PID from now on, until it ends, until Ctrl-C, or for the time of --for. If PID was started without the\n"
    "recorder, Tare loads it by ptrace, and leads calls past it again at the end. Programs that are linked statically or\n"
    "against musl must be started with it: by `tare run --start-paused`, or with LD_PRELOAD and TARE_START_PAUSED=1 as\n"
    "below. A program can be attached to several times."
)
EXAMPLES = """
tare attach 4711 -o server.tare --for 60
tare attach 4711 --content --snapshots
LD_PRELOAD=$(tare attach --library) TARE_START_PAUSED=1 ./server &
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", metavar="PID", nargs="?", default="", help="the process")
    add_recording(parser)
    parser.add_argument(
        "--for",
        dest="seconds",
        type=seconds,
        metavar="TIME",
        default=0.0,
        help="stop recording after this time: 60, 1.5s or 2min (default: when the process ends, or at Ctrl-C)",
    )
    parser.add_argument("--library", action="store_true", help="print the path of the recorder's library, and end")


def run(options: argparse.Namespace) -> int:
    from tare.installation import recorder_library
    from tare.live import launcher_requests

    if options.library:
        print(recorder_library())
        return 0
    if not options.pid and options.content.isdecimal():  # `--content PID`: a number is no lens
        options.pid, options.content = options.content, EVERYTHING
    if not options.pid:
        raise TareError(USAGE, "attach: missing PID: tare attach PID [-o FILE]")
    pid = launcher_requests.pid_of(options.pid, "attach")
    recorded = launcher_requests.find_any(pid)
    if recorded.directory:
        launcher = launcher_requests.launcher_of(recorded)
        busy = f"process {pid} has a launcher already, process {launcher}, which writes its trace"
        if options.output or options.seconds:
            raise TareError(
                CANNOT_RECORD, f"{busy}: see `tare resume {pid}`, `tare snapshot {pid}` and `tare top {pid}`"
            )
        answer = launcher_requests.ask(recorded, "resume")
        if answer.endswith("recorded already"):
            raise TareError(
                CANNOT_RECORD, f"{busy}: end that one first, or see `tare snapshot {pid}` and `tare top {pid}`"
            )
        say([answer])
        return 0
    return _attach(pid, options)


def _attach(pid: int, options: argparse.Namespace) -> int:
    from tare import _core, interrupt
    from tare.commands import run as run_command
    from tare.installation import recorder_library
    from tare.live import launcher_requests
    from tare.naming.symbol_folders import search_too

    max_segment_bytes, keep_segments = run_command.segment_limits(options, "attach")
    sample_bytes, budget = run_command.sampling(options, "attach")
    contents, snapshots = run_command.contents_and_snapshots(options.content, snapshots=options.snapshots)
    outcome = _core.attach(
        pid,
        program=launcher_requests.program_of(pid),
        output=options.output,
        recorder_library=recorder_library(),
        sample_bytes=sample_bytes,
        budget=budget,
        record_free_stacks=options.free_stacks,
        record_contents=contents,
        take_snapshots=snapshots,
        summarize=not options.quiet,
        max_segment_bytes=max_segment_bytes,
        keep_segments=keep_segments,
        interrupted=interrupt.came,
        seconds=options.seconds,
    )
    if root := _core.other_root(pid):
        search_too([root])
    run_command.print_outcome(outcome, with_summary=not options.quiet)
    return 0
