"""`tare export`: a recording as a file for another tool."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from tare.commands.options import add_suppressions
from tare.commands.output_file import whole_file
from tare.errors import IO as IO_ERROR
from tare.errors import USAGE, TareError, warn
from tare.exports import EVERY, FORMATS, folder_format_named, format_named

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tare.analysis.recording import Recording
    from tare.exports import Description
    from tare.exports.selection import Selection
    from tare.lenses.lens import Lens

SYNOPSIS = "tare export TRACE --to FORMAT [options] [-o FILE]"
HELP = (
    "Writes a recording in the format of another tool. All stacks are whole, and the sums of each format equal those of\n"
    "`tare sql`. Bytes are gross bytes: usable bytes and headers.\n\n"
    "formats:\n" + "\n".join(f"  {name:<12} {each.tool}" for name, each in FORMATS.items())
)
EXAMPLES = """
tare export app.tare --to pprof -o app.pb.gz && go tool pprof -http :8080 app.pb.gz
tare export app.tare --to speedscope -o app.speedscope.json
tare export app.tare --to folded --at end --filter parse | flamegraph.pl --countname bytes > leaks.svg
tare export app.tare --to massif -o massif.out && ms_print massif.out
tare export app.tare --to sarif -o app.sarif
tare export app.tare --to parquet -o app.tables && duckdb -c "select * from 'app.tables/process.parquet'"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="TRACE", help="the recording")
    parser.add_argument("--to", required=True, metavar="FORMAT", choices=FORMATS, help="the format; see above")
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="the file to write; -: standard output (default)"
    )
    parser.add_argument(
        "--at",
        metavar="peak|end|TIME",
        help="profiles: the time of blocks in use: 1.5s or 300ms after the start (default: peak)",
    )
    parser.add_argument(
        "--measure",
        choices=EVERY,
        help="profiles: the number of files with one number a stack; the measure shown first by files with several (default: inuse_space)",
    )
    parser.add_argument(
        "--lens",
        metavar="LENS,...",
        help="profiles: tare_space has the bytes of these lenses, and is the measure; sarif, github: only their findings",
    )
    parser.add_argument(
        "--filter",
        action="append",
        metavar="STR",
        help="only sites with STR in a frame; !STR: only sites without; repeatable",
    )
    add_suppressions(parser)
    parser.add_argument(
        "--tables",
        metavar="TABLE,...",
        help="parquet, arrow: the tables to write, or all (default: those that need no further pass over the trace)",
    )


def run(options: argparse.Namespace) -> int:
    from tare import lenses
    from tare.analysis.recording import Recording
    from tare.source.core_source import CoreSource

    gc.disable()  # nothing makes cycles a batch: looking for them was 8 % of an export of 200,000 stacks
    selection, chosen = _selection(options)
    format_ = FORMATS[options.to]
    source = CoreSource(
        options.file,
        at_ns=selection.at_ns,
        suppressions=options.suppressions,
        by_thread=format_.has_threads,
    )
    # Other lenses than those of tare take half of the time of an export: padding alone reads types for each shape.
    every = lenses.names_for(chosen) if format_.has_findings else lenses.tare_names(chosen)
    recording = Recording(source, every, only_grants=_grants(format_, selection))
    for lens in chosen:
        lenses.check_runnable(lens, recording.process)
    warn(recording.source.warnings)
    if "tables" in FORMATS[options.to].options:
        return _folder(recording, options)
    write = format_named(options.to).write
    if options.output == "-":
        if sys.stdout.isatty() and options.to in ("pprof", "otlp"):
            raise TareError(USAGE, f"export: {options.to} is binary; give -o FILE or redirect standard output")
        write(recording, selection, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return 0
    with whole_file(options.output, "export") as out:
        write(recording, selection, out)
    return 0


def _selection(options: argparse.Namespace) -> tuple[Selection, list[Lens]]:
    """The part that the options choose; an error if the format can't have it."""
    from tare import lenses
    from tare.exports.selection import Selection

    format_ = FORMATS[options.to]
    for name in ("at", "measure", "lens", "filter", "tables"):
        if getattr(options, name) is not None and name not in format_.options:
            fitting = ", ".join(other for other, each in FORMATS.items() if name in each.options)
            raise TareError(USAGE, f"export: --to {options.to} has no --{name}; formats with it: {fitting}")
    if options.measure is not None and options.measure not in format_.measures:
        raise TareError(
            USAGE,
            f"export: {options.to} has bytes only: --measure {', '.join(format_.measures)}, not {options.measure}",
        )
    chosen = lenses.load_named(options.lens) if options.lens is not None else []
    if options.lens is not None and not chosen:
        raise TareError(USAGE, f"export: --lens needs lenses: {', '.join(lenses.NAMES)}")
    selection = Selection(
        at=options.at or "peak",
        measure=options.measure or "",
        lenses=tuple(lens.name for lens in chosen),
        filters=tuple(options.filter or ()),
    )
    selection.check()
    return selection, chosen


def _grants(format_: Description, selection: Selection) -> Sequence[str]:
    """The columns of claims that the format has; none: all. Each takes time for each shape."""
    if format_.has_findings:
        return ()
    if "at" not in format_.options:
        return ("bytes_peak", "bytes_end")
    return (selection.claimed,) if selection.claimed else ()


def _folder(recording: Recording, options: argparse.Namespace) -> int:
    """The folder appears under its name when it is complete; one that exists stays as it is."""
    import shutil
    from pathlib import Path

    folder = Path(options.output)
    if options.output == "-":
        raise TareError(USAGE, f"export: {options.to} has several files; give a folder by -o")
    if folder.exists():
        raise TareError(USAGE, f"export: {folder} exists already; remove it, or give another folder")
    part = Path(f"{folder}.part-{os.getpid()}")
    tables = [] if options.tables is None else options.tables.split(",")
    try:
        folder_format_named(options.to).write_folder(recording, part, tables)
        os.rename(part, folder)
    except OSError as error:
        raise TareError(IO_ERROR, f"export: can't write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return 0
