"""`tare export`: a recording as a file for another tool."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.commands.output_file import whole_file
from tare.errors import IO as IO_ERROR
from tare.errors import USAGE, TareError
from tare.exports import FOLDERS, FORMATS, folder_format_named, format_named

if TYPE_CHECKING:
    import argparse

    from tare.analysis.recording import Recording

SYNOPSIS = "tare export TRACE --to FORMAT [-o FILE]"
HELP = (
    "Writes a recording in the format of another tool. All stacks are whole, and the sums of each format equal those of\n"
    "`tare sql`. Bytes are gross bytes: usable bytes and headers.\n\n"
    "formats:\n" + "\n".join(f"  {name:<12} {tool}" for name, tool in FORMATS.items())
)
EXAMPLES = """
tare export app.tare --to pprof -o app.pb.gz && go tool pprof -http :8080 app.pb.gz
tare export app.tare --to speedscope -o app.speedscope.json
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
        "--tables",
        metavar="TABLE,...",
        help="parquet: the tables to write (default: all but those that `tare schema` marks as heavy)",
    )


def run(options: argparse.Namespace) -> int:
    from tare.analysis.recording import Recording
    from tare.source.core_source import CoreSource

    if options.tables is not None and options.to not in FOLDERS:
        raise TareError(USAGE, f"export: --tables goes with --to {' or '.join(sorted(FOLDERS))}, not with {options.to}")
    recording = Recording(CoreSource(options.file))
    if options.to in FOLDERS:
        return _folder(recording, options)
    write = format_named(options.to).write
    if options.output == "-":
        if sys.stdout.isatty() and options.to == "pprof":
            raise TareError(USAGE, "export: pprof's format is binary; give -o FILE or redirect standard output")
        write(recording, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return 0
    with whole_file(options.output, "export") as out:
        write(recording, out)
    return 0


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
