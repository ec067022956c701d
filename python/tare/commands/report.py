"""`tare report`: explains a recording, as text or as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare report FILE [options]"
HELP = (
    "Explains a recording: gross = net + tare, what each lens found and what to do about it, and records: the heap at a\n"
    "moment (live) or over the whole run (cumulative), a site each, with stack and sizes."
)
EXAMPLES = """
tare report app.tare                          what stood at the peak
tare report app.tare --at end                 what was never freed
tare report app.tare --at 1.5s --sort blocks
tare report app.tare --mode cumulative --sort byte-seconds -n 5
tare report app.tare --lens growth,churn      two lenses, with their reasons
tare report app.tare --filter parse --filter '!test'
tare report app.tare --mode dark-matter       what no report of the program claims, or two do
tare report app.tare --mode rss               where the resident memory is (needs --snapshots)
tare report app.tare.short                    the short processes of a recording; app.tare.short:4711 is one of them
tare report app.tare --folded | flamegraph.pl --countname bytes > app.svg    (speedscope reads it, too)
tare report app.tare --json | jq .peak
"""

_RECORDS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare.recording import SITE_DEPTH
    from tare.reports.records import SORTS

    parser.add_argument(
        "file",
        metavar="FILE",
        help="a trace, the spool of a recording that died, FILE.short (lists the short processes in it) or FILE.short:PID",
    )
    parser.add_argument(
        "--mode",
        choices=("live", "cumulative", "dark-matter", "rss"),
        default="live",
        help="what stands at a moment, all that ever did, what stands held against the program's own reports, or where the "
        "resident memory is",
    )
    parser.add_argument(
        "--at",
        metavar="peak|end|TIME",
        help="the moment; TIME as in 1.5s or 300ms (default: peak; of dark-matter when the program last reported; of rss the "
        "last look)",
    )
    parser.add_argument(
        "--sort", choices=SORTS, default="usable", help="records in this order, descending (default: usable)"
    )
    parser.add_argument("--lens", metavar="LENS,...", help="only the findings of these lenses, all of their words")
    parser.add_argument(
        "--depth",
        type=int,
        default=SITE_DEPTH,
        metavar="N",
        help=f"frames that tell sites apart (default: {SITE_DEPTH})",
    )
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="STR",
        help="only records with STR in a frame; !STR: in none; repeatable",
    )
    parser.add_argument(
        "-n", type=int, default=_RECORDS, metavar="N", help=f"at most N records or findings (default: {_RECORDS})"
    )
    parser.add_argument(
        "--suppressions",
        action="append",
        default=[],
        metavar="FILE",
        help="leaks that are known: lines of leak:PATTERN, as LeakSanitizer has them; repeatable",
    )
    parser.add_argument(
        "--folded", action="store_true", help="whole stacks, a line each with what --sort names, for flame graphs"
    )
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")


def run(options: argparse.Namespace) -> int:
    from tare import lenses
    from tare.core_source import CoreSource
    from tare.recording import Recording
    from tare.reports import records

    if options.depth < 1 or options.n < 0:
        raise TareError(USAGE, "report: --depth is at least 1, -n at least 0")
    if _shows_container(options):
        return 0
    chosen = lenses.load_named(options.lens) if options.lens is not None else []
    if options.lens is not None and not chosen:
        raise TareError(USAGE, f"report: --lens names no lens: there are {', '.join(lenses.NAMES)}")
    if options.folded and (options.json or chosen or options.filter or options.mode not in ("live", "cumulative")):
        raise TareError(USAGE, "report: --folded goes with --mode live or cumulative, --at and --sort alone")
    if options.mode == "dark-matter":
        return _dark_matter(options)
    if options.mode == "rss":
        return _resident(options)
    options.at = options.at or ("peak" if options.mode == "live" else None)
    at_ns = None if options.at in (None, "peak", "end") else records.parse_time(options.at)
    source = CoreSource(options.file, at_ns=at_ns, depth=options.depth, suppressions=options.suppressions)
    recording = Recording(source, lenses.names_for(chosen))
    for lens in chosen:
        lenses.check_runnable(lens, recording.process)
    counted, title = _moment(options.mode, options.at)
    if options.folded:
        from tare.errors import warn
        from tare.reports import folded

        warn(recording.source.warnings)
        say(folded.lines(recording, counted, options.sort))
        return 0
    page = None
    if not chosen:
        page = records.query(recording, counted, options.sort, options.filter, None if options.json else options.n)
    if options.json:
        from tare.reports import json_report

        selection = {
            "mode": options.mode,
            "at": options.at if options.mode == "live" else None,
            "sort": options.sort,
            "depth": options.depth,
            "filters": options.filter,
        }
        print(json_report.dump(json_report.report(recording, page, chosen, selection)))
        return 0
    from tare.reports import text_report
    from tare.terminal import Style, width_of

    style, width = Style(sys.stdout), width_of(sys.stdout)
    say(text_report.report(recording, page, chosen, title, options.n, style, width))
    return 0


def _shows_container(options: argparse.Namespace) -> bool:
    """Lists the processes where FILE holds the traces of several."""
    from tare import _core
    from tare.reports import container

    if (found := _core.list_members(options.file)) is None:
        return False
    if options.json:
        from tare.reports.json_report import dump

        print(dump(container.as_json(options.file, found)))
        return True
    from tare.terminal import width_of

    say(container.lines(options.file, found, width_of(sys.stdout)))
    return True


def _dark_matter(options: argparse.Namespace) -> int:
    from tare import dark_matter
    from tare.core_source import CoreSource
    from tare.recording import Recording
    from tare.reports import dark_matter as texts

    if options.lens is not None or options.sort != "usable":
        raise TareError(USAGE, "report: --lens and --sort belong to the other modes; dark matter is sorted by bytes")
    recording = Recording(CoreSource(options.file, depth=options.depth))
    matter = dark_matter.divide(recording, options.at, None if options.json else options.n, options.filter)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(texts.as_json(recording, matter)))
        return 0
    from tare.terminal import Style, width_of

    say(texts.report(recording, matter, Style(sys.stdout), width_of(sys.stdout)))
    return 0


def _resident(options: argparse.Namespace) -> int:
    from tare import resident
    from tare.core_source import CoreSource
    from tare.recording import Recording
    from tare.reports import resident as texts

    if options.lens is not None or options.sort != "usable" or options.filter:
        raise TareError(
            USAGE, "report: --lens, --sort and --filter belong to the other modes; rss is of the whole process"
        )
    recording = Recording(CoreSource(options.file, depth=options.depth))
    found = resident.residence(recording, options.at)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(texts.as_json(recording, found)))
        return 0
    from tare.terminal import Style, width_of

    say(texts.report(recording, found, Style(sys.stdout), width_of(sys.stdout)))
    return 0


def _moment(mode: str, at: str | None) -> tuple[str, str]:
    """The column of site_sizes that counts the blocks meant, and what a record of them is called."""
    if mode == "cumulative":
        if at is not None:
            raise TareError(USAGE, "report: --at belongs to --mode live; cumulative is over the whole run")
        return "total_blocks", "Cumulative"
    if at == "peak":
        return "peak_blocks", "Live at the peak"
    if at == "end":
        return "end_blocks", "Live at the end"
    return "at_blocks", f"Live at {at}"
