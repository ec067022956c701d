"""`tare gc check`: members and pointers in C++ sources that the collector can't see."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.commands.options import add_json, at_least_one
from tare.text.terminal import Style, width_of

if TYPE_CHECKING:
    import argparse

    from tare.collector.check.rules import Finding
    from tare.collector.check.scan import Result

SYNOPSIS = "tare gc check [PATH...] [-p BUILD] [--root FOLDER] [--jobs N] [--json] [-- OPTION...]"
HELP = (
    "Reads C++ sources that use tare::gc with libclang, and finds errors that would crash the program: Members missing in\n"
    "trace(), classes without trace(), Members in containers such as std::vector, plain pointers to collected objects.\n"
    "If there are findings, the exit status is 1."
)
EXAMPLES = """
tare gc check -p build                           all sources in build/compile_commands.json
tare gc check -p build src/dom                   the sources in a folder
tare gc check src/dom -- -Iinclude -DNDEBUG      without a build: compiler options for all sources
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, help="sources, or folders of them")
    parser.add_argument(
        "-p", "--build", metavar="BUILD", type=Path, help="a folder with compile_commands.json, or that file"
    )
    parser.add_argument(
        "--root",
        metavar="FOLDER",
        type=Path,
        action="append",
        help="report findings in files below this folder (default: the current folder and PATHs)",
    )
    parser.add_argument(
        "--jobs", type=at_least_one, default=os.cpu_count() or 1, metavar="N", help="processes (default: one a core)"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.collector.check.scan import scan_all
    from tare.collector.check.sources import from_arguments, from_database
    from tare.errors import USAGE, TareError

    if options.build is None and not options.paths:
        raise TareError(USAGE, "gc check: missing sources: give PATH or -p BUILD")
    if options.build is not None:
        sources = from_database(options.build, options.paths)
    else:
        sources = from_arguments(options.paths, options.after_dashes or [])
    roots = [str(root.resolve()) for root in (options.root or [Path(), *options.paths])]
    result = scan_all(sources, roots, options.jobs)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(result)))
    else:
        show(result)
    return 1 if result.findings else 0


def show(result: Result) -> None:
    style = Style(sys.stdout)
    for finding in result.findings:
        print(f"{place_of(finding)}: {style(finding.message, 'bold')} [tare-gc-{finding.rule}]")
    for error in result.errors[:5]:
        print(f"not read: {error}", file=sys.stderr)
    if len(result.errors) > 5:
        print(f"not read: and {len(result.errors) - 5} more", file=sys.stderr)
    files = len({finding.file for finding in result.findings})
    found = f"{len(result.findings)} findings in {files} files" if result.findings else "nothing found"
    line = f"{found}; {result.sources} sources read, {result.classes} classes checked"
    if result.errors:
        line += f", {len(result.errors)} compiler errors: code that libclang can't parse isn't checked"
    print(line[: max(width_of(sys.stdout), 72)] if sys.stdout.isatty() else line)


def place_of(finding: Finding) -> str:
    path = Path(finding.file)
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{shown}:{finding.line}:{finding.column}"


def as_json(result: Result) -> dict[str, Any]:
    return {
        "sources": result.sources,
        "classes": result.classes,
        "findings": [finding._asdict() for finding in result.findings],
        "errors": result.errors,
    }
