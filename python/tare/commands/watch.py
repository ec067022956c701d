"""`tare watch`: heap snapshots of long-lived processes, taken from files that survive any kill."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from tare.commands.options import add_budget, at_least_one
from tare.errors import CANNOT_RECORD, COMMAND_NOT_FOUND, USAGE, TareError
from tare.text.durations import parse_duration
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

    from tare.watch.folder import Folder
    from tare.watch.loop import Loop
    from tare.watch.watcher import Watcher

SYNOPSIS = "tare watch [options] -- CMD [ARG ...] | --serve FOLDER | --install UNIT | --uninstall UNIT"
HELP = (
    "Runs CMD with a recorder that keeps a sample of its heap in a file of at most 4 MiB, and takes snapshots of that file.\n"
    "The file is complete after any kill. `tare report FOLDER@last`, `FOLDER@peak`, `FOLDER@1h` and `FOLDER@now` read\n"
    "snapshots; `FOLDER/PID@1h` is of one process. --serve watches programs that others start with LD_PRELOAD and TARE_WATCH."
)
EXAMPLES = """
tare watch -- ./server --port 80                     run it watched; Ctrl-C goes to the server
tare watch --budget -- ./server                      the recorder takes at most 0.5 % of the server's CPU time
tare watch --budget cpu=0.2%,memory=8M -- ./server
tare watch --dir /srv/heap --when-heap 1G -- ./server
tare watch --serve /var/lib/tare/redis               the watcher alone, beside a service or in a sidecar
tare watch --serve /heap --when-growth 200M/1h --when-pressure 10 --not-within 10min
tare report /var/lib/tare/redis@last                 the newest snapshot, also after an out-of-memory kill
tare diff /var/lib/tare/redis@1h /var/lib/tare/redis@now
curl --unix-socket /var/lib/tare/redis/socket http://tare/metrics
tare watch --install redis.service --dry-run         print the units that systemd would get
"""


class Growth(NamedTuple):
    growth_bytes: int
    seconds: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare.watch.loop import POLL_S
    from tare.watch.snapshots import Limits

    parser.add_argument(
        "--dir",
        metavar="FOLDER",
        help="the folder of CMD's files and snapshots (default: $XDG_STATE_HOME/tare/watch/CMD; of root: /var/lib/tare/CMD)",
    )
    parser.add_argument(
        "--sample", metavar="BYTES", default="512K", help="record one allocation in BYTES on average (default: 512K)"
    )
    add_budget(
        parser,
        "sample fewer allocations rather than exceed these limits of the recorder, such as cpu=0.5%,memory=16M,disk=1M: "
        "a share of CMD's CPU time, resident memory, and the file",
    )
    parser.add_argument("--serve", metavar="FOLDER", help="start no program: watch the files in FOLDER")
    parser.add_argument(
        "--every", type=_duration, metavar="TIME", default=60.0, help="take a snapshot so often (default: 60s)"
    )
    parser.add_argument(
        "--poll",
        type=_duration,
        metavar="TIME",
        default=POLL_S,
        help=f"read the files and the triggers so often (default: {POLL_S:.0f}s)",
    )
    parser.add_argument(
        "--keep-count",
        type=at_least_one,
        metavar="N",
        default=Limits().snapshots,
        help=f"snapshots that are kept; older ones are thinned by age first (default: {Limits().snapshots})",
    )
    parser.add_argument("--keep-bytes", metavar="BYTES", default="1G", help="bytes of kept snapshots (default: 1G)")
    parser.add_argument("--when-rss", metavar="BYTES", default="0", help="snapshot at a resident set of BYTES")
    parser.add_argument("--when-heap", metavar="BYTES", default="0", help="snapshot at a heap of BYTES")
    parser.add_argument(
        "--when-growth",
        type=_growth,
        metavar="BYTES/TIME",
        default=Growth(0, 0.0),
        help="snapshot when the heap grew by BYTES within TIME, such as 200M/1h",
    )
    parser.add_argument(
        "--when-pressure",
        type=_percent,
        metavar="PERCENT",
        default=0.0,
        help="snapshot when threads of the control group waited for memory in PERCENT of the last 10 s",
    )
    parser.add_argument(
        "--when-limit", action="store_true", help="snapshot when the control group reached its memory limits"
    )
    parser.add_argument(
        "--not-within",
        type=_duration,
        metavar="TIME",
        default=300.0,
        help="at most one snapshot of a trigger and process in TIME (default: 5min)",
    )
    parser.add_argument(
        "--exact",
        type=_duration,
        metavar="TIME",
        default=0.0,
        help="a trigger also starts an exact recording of TIME by `tare attach`",
    )
    parser.add_argument(
        "--dead-after",
        type=_duration,
        metavar="TIME",
        default=900.0,
        help="a process that isn't visible here counts as ended if it wrote nothing for TIME (default: 15min)",
    )
    parser.add_argument(
        "--cgroup", metavar="FOLDER", default="", help="the processes' control group, if /proc doesn't lead to it"
    )
    parser.add_argument(
        "--socket",
        metavar="PATH",
        help="Unix socket of GET /metrics, GET /healthz and POST /snapshot; none: no socket (default: FOLDER/socket)",
    )
    parser.add_argument(
        "--install", metavar="UNIT", help="make a service of systemd a watched one, such as redis.service"
    )
    parser.add_argument("--uninstall", metavar="UNIT", help="delete the units of --install")
    parser.add_argument(
        "--dry-run", action="store_true", help="--install, --uninstall: print the files, change nothing"
    )
    parser.add_argument("command", nargs="...", metavar="CMD", help="the program and its arguments")


def run(options: argparse.Namespace) -> int:
    command = options.command + (options.after_dashes or [])
    ways = [bool(command), bool(options.serve), bool(options.install), bool(options.uninstall)]
    if sum(ways) != 1:
        raise TareError(USAGE, "watch: give one of -- CMD, --serve FOLDER, --install UNIT, --uninstall UNIT")
    if options.dry_run and not (options.install or options.uninstall):
        raise TareError(USAGE, "watch: --dry-run goes with --install and --uninstall")
    if options.budget and (options.serve or options.uninstall):
        raise TareError(
            USAGE, "watch: --budget goes with CMD and --install: a running recorder has its own TARE_BUDGET"
        )
    if options.install:
        return _install(options)
    if options.uninstall:
        return _uninstall(options)
    return _serve(options) if options.serve else _run(command, options)


def _serve(options: argparse.Namespace) -> int:
    from tare.watch.folder import Folder

    folder = Folder(options.serve)
    if holder := folder.lock():
        raise TareError(CANNOT_RECORD, f"{folder.path} is watched already{_by(holder)}: end that watcher first")
    _, loop = _made(folder, options, own_since_ns=0)
    loop.run()
    return 0


def _run(command: list[str], options: argparse.Namespace) -> int:
    import time

    from tare.commands.run import end_like
    from tare.installation import recorder_library
    from tare.text.sizes import parse_bytes
    from tare.watch import budget, program
    from tare.watch.folder import Folder

    try:
        limits = budget.parsed(options.budget)
        path = program.make_folder(options.dir or program.default_folder(command[0]))
        folder = Folder(path)
        sample_bytes = parse_bytes(options.sample, "--sample")
        if not sample_bytes:
            raise TareError(USAGE, "watch: --sample needs at least 1: tare run records every allocation")
        holder = folder.lock()
        made = None if holder else _made(folder, options, own_since_ns=time.time_ns())
        process = program.start(command, program.environment(path, recorder_library(), sample_bytes, limits))
    except TareError as error:
        error.status = 127 if error.kind == COMMAND_NOT_FOUND else 125
        raise
    if made is None:
        say(
            [f"tare: {path} is watched already{_by(holder)}, which takes the snapshots of this program too"], sys.stderr
        )
        program.ignore_interrupt()
        return end_like(program.wait_status(process.wait()))
    watcher, loop = made
    loop.run(process)
    code = process.wait()
    watcher.signals[process.pid] = program.signal_of(code)
    watcher.round()
    if watcher.living:
        say([f"tare: {watcher.living} processes of it still run: `tare watch --serve {path}` watches them"], sys.stderr)
    return end_like(program.wait_status(code))


def _made(folder: Folder, options: argparse.Namespace, own_since_ns: int) -> tuple[Watcher, Loop]:
    from tare.text.sizes import parse_bytes
    from tare.watch.exact import ExactRecordings
    from tare.watch.loop import Loop
    from tare.watch.pressure import Groups
    from tare.watch.snapshots import Limits
    from tare.watch.triggers import Conditions
    from tare.watch.watcher import Settings, Watcher

    conditions = Conditions(
        rss_bytes=parse_bytes(options.when_rss, "--when-rss"),
        heap_bytes=parse_bytes(options.when_heap, "--when-heap"),
        growth_bytes=options.when_growth.growth_bytes,
        growth_s=options.when_growth.seconds,
        pressure_percent=options.when_pressure,
        at_limit=options.when_limit,
        not_within_s=options.not_within,
    )
    settings = Settings(
        every_s=options.every,
        limits=Limits(options.keep_count, parse_bytes(options.keep_bytes, "--keep-bytes")),
        conditions=conditions,
        dead_after_s=options.dead_after,
        own_since_ns=own_since_ns,
    )
    watcher = Watcher(
        folder,
        settings,
        _print_line,
        groups=Groups(given=options.cgroup.rstrip("/")),
        exact=ExactRecordings(options.exact) if options.exact else None,
    )
    socket_path = "" if options.socket == "none" else options.socket or os.path.join(folder.path, "socket")
    return watcher, Loop(watcher, min(options.poll, options.every), socket_path)


def _print_line(line: str) -> None:
    """A reader of stderr that went away doesn't end the watcher."""
    try:
        say([f"tare: {line}"], sys.stderr)
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _install(options: argparse.Namespace) -> int:
    from tare.installation import recorder_library
    from tare.text.sizes import parse_bytes
    from tare.watch import budget, service

    parse_bytes(options.sample, "--sample")
    tare = os.path.abspath(sys.argv[0])
    facts = service.facts_of(options.install)
    library = recorder_library()
    service.check_visible(options.install, facts, library, tare)
    made = service.units(options.install, facts, library, tare, options.sample, budget=budget.parsed(options.budget))
    for unit in made:
        say([f"# {unit.path}", *unit.text.splitlines(), ""])
    if options.dry_run:
        return 0
    service.install(made)
    if why := service.reload_systemd():
        say([f"tare: systemctl daemon-reload failed: {why}"], sys.stderr)
    say(
        [
            f"next: systemctl restart {options.install}   tare report /var/lib/tare/{options.install.removesuffix('.service')}@now"
        ]
    )
    return 0


def _uninstall(options: argparse.Namespace) -> int:
    from tare.watch import service

    gone = service.uninstall(options.uninstall, dry_run=options.dry_run)
    if not gone:
        say([f"{options.uninstall} isn't watched: nothing to delete"])
        return 0
    say([f"{'would delete' if options.dry_run else 'deleted'} {path}" for path in gone])
    if not options.dry_run:
        if why := service.reload_systemd():
            say([f"tare: systemctl daemon-reload failed: {why}"], sys.stderr)
        say([f"next: systemctl restart {options.uninstall}; systemctl stop {service.watcher_of(options.uninstall)}"])
    return 0


def _by(holder: int) -> str:
    return f" by process {holder}" if holder > 0 else ""


def _duration(text: str) -> float:
    value = parse_duration(text)
    if not value:
        raise ValueError("a time such as 90s, 10min, 1h or 7d")
    return value


def _growth(text: str) -> Growth:
    from tare.text.sizes import parse_bytes

    size, _, time = text.partition("/")
    try:
        return Growth(parse_bytes(size, "--when-growth"), _duration(time))
    except (TareError, ValueError):
        raise ValueError("bytes within a time, such as 200M/1h") from None


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        raise ValueError("a number of percent up to 100, such as 10")
    return value
