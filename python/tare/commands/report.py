"""`tare report`: explains a recording, as text or as JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.commands.options import add_depth, add_html, add_json, add_rows, add_sources, add_suppressions
from tare.errors import USAGE, TareError
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare report FILE [options]"
HELP = (
    "Prints the balance of the heap (gross = net + tare), the findings of each lens with a remedy, and records: the blocks\n"
    "of each site at one time (live) or of the whole run (cumulative), with stack and sizes."
)
EXAMPLES = """
tare report app.tare                          the heap at its peak
tare report app.tare --at end                 blocks that were never freed
tare report app.tare --at 1.5s --sort blocks  the heap 1.5 s after the start
tare report app.tare --mode cumulative --sort byte-seconds -n 5
tare report app.tare --lens growth,churn      the findings of two lenses, with reasons
tare report app.tare --filter parse --filter '!test'
tare report app.tare --mode dark-matter       blocks that the program's memory reports miss or count twice
tare report app.tare --mode rss               the parts of the resident memory (needs `tare run --snapshots`)
tare report app.tare --group                  the program and all processes that it started, added up
tare report recordings/                       likewise for all recordings in a folder
tare report /var/lib/tare/redis@last          the newest snapshot of `tare watch`; also @now, @peak, @1h
tare report app.tare.short                    the short processes of a recording; app.tare.short:4711 is one of them
tare report app.tare --folded | flamegraph.pl --countname bytes > app.svg    (or load it into speedscope)
tare report app.tare --json | jq .peak
tare report app.tare --html --open            graphs in the browser: one file, app.tare.html
"""

_RECORDS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tare import lenses
    from tare.analysis.records import SORTS

    parser.add_argument(
        "file",
        metavar="FILE",
        help="a trace of `tare run`; the spool of a recording that was killed; FILE.short or FILE.short:PID; or a folder of recordings: "
        "all processes together",
    )
    parser.add_argument(
        "--group",
        action="store_true",
        help="all processes of the recording together: roles, and findings and sites added up",
    )
    parser.add_argument(
        "--mode",
        choices=("live", "cumulative", "dark-matter", "rss"),
        default="live",
        help="live: blocks at one time; cumulative: blocks of the whole run; dark-matter: blocks compared with the program's "
        "memory reports; rss: the parts of the resident memory (default: live)",
    )
    parser.add_argument(
        "--at",
        metavar="peak|end|TIME",
        help="the time: 1.5s or 300ms after the start (default: peak; dark-matter: the program's last memory report; rss: the "
        "last snapshot)",
    )
    parser.add_argument(
        "--sort", choices=SORTS, default="usable", help="order of records, descending (default: usable)"
    )
    parser.add_argument(
        "--lens", metavar="LENS,...", help=f"only the findings of these lenses, with reasons: {', '.join(lenses.NAMES)}"
    )
    add_depth(parser)
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="STR",
        help="only records with STR in a frame; !STR: only records without; repeatable",
    )
    add_rows(parser, _RECORDS, "records, and findings of a lens")
    add_suppressions(parser)
    parser.add_argument(
        "--debuginfod",
        action="store_true",
        help="fetch missing debug files from the servers of DEBUGINFOD_URLS (needs debuginfod-find)",
    )
    parser.add_argument(
        "--folded",
        action="store_true",
        help="whole stacks for flame graphs: one a line, with the number that --sort names",
    )
    add_html(parser, "FILE.html")
    add_sources(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare import lenses
    from tare.analysis import records
    from tare.analysis.recording import Recording
    from tare.source.core_source import CoreSource

    if options.group or os.path.isdir(options.file):
        return _group(options)
    if _shows_container(options):
        return 0
    if options.debuginfod:
        _fetch_debug_files(options.file)
    chosen = lenses.load_named(options.lens) if options.lens is not None else []
    if options.lens is not None and not chosen:
        raise TareError(USAGE, f"report: --lens needs lenses: {', '.join(lenses.NAMES)}")
    if options.folded and (options.json or chosen or options.filter or options.mode not in ("live", "cumulative")):
        raise TareError(USAGE, "report: --folded can be combined only with --mode live or cumulative, --at and --sort")
    if (options.output or options.open or options.sources) and not options.html:
        raise TareError(USAGE, "report: -o, --open and --sources go with --html")
    if options.html:
        return _page(options)
    if options.mode == "dark-matter":
        return _dark_matter(options)
    if options.mode == "rss":
        return _resident(options)
    options.at = options.at or ("peak" if options.mode == "live" else None)
    at_ns = None if options.at in (None, "peak", "end") else records.parse_time(options.at)
    source = CoreSource(options.file, at_ns=at_ns, depth=options.depth, suppressions=options.suppressions)
    recording = Recording(source, lenses.names_for(chosen, source.process()))
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
        page = records.query(recording, counted, options.sort, options.filter, None if options.json else options.rows)
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
    from tare.text.terminal import Style, width_of

    style, width = Style(sys.stdout), width_of(sys.stdout)
    say(text_report.report(recording, page, chosen, title, options.rows, style, width))
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
    from tare.text.terminal import width_of

    say(container.lines(options.file, found, width_of(sys.stdout)))
    return True


def _fetch_debug_files(path: str) -> None:
    """Of the files of code in the recording's stacks."""
    from tare.analysis.recording import Recording
    from tare.naming import debuginfod
    from tare.source.core_source import CoreSource

    recording = Recording(CoreSource(path, depth=1))
    recording.database.use("modules", "locations")
    debuginfod.fetch(
        recording.database.rows(
            "select distinct path, build_id from modules where build_id is not null"
            " and module_id in (select module_id from locations) order by path"
        )
    )


def _group(options: argparse.Namespace) -> int:
    from tare.analysis import group, group_files
    from tare.analysis.recording import Recording
    from tare.reports import group_report
    from tare.source.core_source import CoreSource

    if options.html or options.folded or options.lens or options.filter or options.at or options.mode != "live":
        raise TareError(USAGE, "report: a group of processes has only -n and --json; other options are for one process")
    is_folder = os.path.isdir(options.file)
    files = group_files.of_folder(options.file) if is_folder else group_files.of_recording(options.file)
    name = options.file if is_folder else os.path.basename(group_files.base_of(options.file))
    found = group.group_of(name, files)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(group_report.as_json(found)))
        return 0
    from tare.text.terminal import Style, width_of

    detail = Recording(CoreSource(found.largest.path, depth=1))
    say(group_report.lines(found, detail, options.rows, Style(sys.stdout), width_of(sys.stdout)))
    return 0


def _page(options: argparse.Namespace) -> int:
    from tare import lenses
    from tare.analysis.recording import Recording
    from tare.commands.output_file import write_page
    from tare.html import page
    from tare.source.core_source import CoreSource

    if options.json or options.folded or options.lens or options.filter or options.at or options.mode != "live":
        raise TareError(
            USAGE,
            "report: --html shows all lenses and times; it goes with -o, --open, --sources, --depth and --suppressions",
        )
    source = CoreSource(options.file, depth=options.depth, suppressions=options.suppressions)
    recording = Recording(source, lenses.names_for([], source.process()))
    write_page(
        options, f"{options.file}.html", "report", lambda out: page.write(recording, out, with_sources=options.sources)
    )
    return 0


def _dark_matter(options: argparse.Namespace) -> int:
    from tare.analysis import dark_matter
    from tare.analysis.recording import Recording
    from tare.reports import dark_matter as texts
    from tare.source.core_source import CoreSource

    if options.lens is not None or options.sort != "usable":
        raise TareError(USAGE, "report: --mode dark-matter has neither --lens nor --sort")
    recording = Recording(CoreSource(options.file, depth=options.depth))
    matter = dark_matter.divide(recording, options.at, None if options.json else options.rows, options.filter)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(texts.as_json(recording, matter)))
        return 0
    from tare.text.terminal import Style, width_of

    say(texts.report(recording, matter, Style(sys.stdout), width_of(sys.stdout)))
    return 0


def _resident(options: argparse.Namespace) -> int:
    from tare.analysis import resident
    from tare.analysis.recording import Recording
    from tare.reports import resident as texts
    from tare.source.core_source import CoreSource

    if options.lens is not None or options.sort != "usable" or options.filter:
        raise TareError(USAGE, "report: --mode rss has neither --lens, --sort nor --filter")
    recording = Recording(CoreSource(options.file, depth=options.depth))
    found = resident.residence(recording, options.at)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(texts.as_json(recording, found)))
        return 0
    from tare.text.terminal import Style, width_of

    say(texts.report(recording, found, Style(sys.stdout), width_of(sys.stdout)))
    return 0


def _moment(mode: str, at: str | None) -> tuple[str, str]:
    """The column of site_sizes that counts the blocks, and the title of their records."""
    if mode == "cumulative":
        if at is not None:
            raise TareError(USAGE, "report: --mode cumulative has no --at: it covers the whole run")
        return "total_blocks", "Cumulative"
    if at == "peak":
        return "peak_blocks", "Live at the peak"
    if at == "end":
        return "end_blocks", "Live at the end"
    return "at_blocks", f"Live at {at}"
