"""`tare attach`: becomes the launcher of a running program whose recorder sleeps, or was let go before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.errors import CANNOT_RECORD, USAGE, TareError
from tare.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare attach PID [-o FILE] [options]"
HELP = (
    "Records PID from now until it ends, Ctrl-C, or --for. PID must have been started with the recorder asleep: by\n"
    "`tare run --start-paused` (this is `tare resume` then), or by configuration, with LD_PRELOAD naming the recorder's\n"
    "library (`tare attach --library` prints its path) and TARE_START_PAUSED=1. Asleep it costs some 50 instructions a call.\n"
    "It may be attached to again once it was let go."
)
EXAMPLES = """
tare attach 4711 -o server.tare --for 60
tare attach 4711 --content --snapshots
LD_PRELOAD=$(tare attach --library) TARE_START_PAUSED=1 ./server &
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", metavar="PID", nargs="?", default="", help="the process")
    parser.add_argument("-o", "--output", metavar="FILE", default="", help="the trace (default: tare.PROGRAM.PID.tare)")
    parser.add_argument("--for", dest="seconds", metavar="SECONDS", default="0", help="let go after so long")
    parser.add_argument(
        "--sample", metavar="BYTES", default="0", help="record one allocation in BYTES on average (512K, 4M)"
    )
    parser.add_argument("--free-stacks", action="store_true", help="record where blocks are freed, too")
    parser.add_argument(
        "--content", action="store_true", help="look into blocks, too: fills those allocated from now on"
    )
    parser.add_argument(
        "--snapshots", action="store_true", help="look into live blocks near the peak and at the exit (short stops)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary")
    parser.add_argument("--library", action="store_true", help="print where the recorder's library is, and end")


def run(options: argparse.Namespace) -> int:
    from tare import live
    from tare.commands import run as run_command

    if options.library:
        print(run_command.recorder_library())
        return 0
    if not options.pid:
        raise TareError(USAGE, "attach: which process? tare attach PID")
    pid = live.pid_of(options.pid, "attach")
    try:
        seconds = float(options.seconds)
        if seconds < 0 or seconds != seconds:
            raise ValueError
    except ValueError:
        raise TareError(USAGE, f"attach: --for takes seconds, not '{options.seconds}'") from None
    recorded = live.find(pid)
    if recorded.directory:
        launcher = live.launcher_of(recorded)
        busy = f"process {pid} has a launcher already, process {launcher}, which writes its trace"
        if options.output or seconds:
            raise TareError(
                CANNOT_RECORD, f"{busy}: see `tare resume {pid}`, `tare snapshot {pid}` and `tare top {pid}`"
            )
        answer = live.ask(recorded, "resume")
        if answer.endswith("recorded already"):
            raise TareError(
                CANNOT_RECORD, f"{busy}: end that one first, or see `tare snapshot {pid}` and `tare top {pid}`"
            )
        say([answer])
        return 0
    return _attach(pid, seconds, options)


def _attach(pid: int, seconds: float, options: argparse.Namespace) -> int:
    from tare import _core, live
    from tare.commands import run as run_command
    from tare.sizes import parse_bytes

    outcome = _core.attach(
        pid,
        program=live.program_of(pid),
        output=options.output,
        recorder_library=run_command.recorder_library(),
        sample_bytes=parse_bytes(options.sample, "--sample"),
        record_free_stacks=options.free_stacks,
        record_contents=options.content,
        take_moments=options.content or options.snapshots,
        summarize=not options.quiet,
        seconds=seconds,
    )
    run_command.tell(outcome, with_summary=not options.quiet)
    return 0
