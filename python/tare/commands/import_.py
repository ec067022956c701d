"""`tare import`: a recording from the file of another profiler."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.commands.output_file import replacement
from tare.errors import CORRUPT, USAGE, TareError, warn
from tare.errors import IO as IO_ERROR
from tare.imports import FORMATS, format_named
from tare.text.units import plural

if TYPE_CHECKING:
    import argparse

    from tare.imports import Format
    from tare.imports.source_file import SourceFile

SYNOPSIS = "tare import SOURCE [--from FORMAT] [-o FILE]"
HELP = (
    "Makes a recording from a file of another heap profiler. `tare report`, `diff`, `sql`, `model` and `export` read it as one of\n"
    "`tare run`, and `tare replay` does if the file has single events. Facts that the file doesn't have are null; reports list them.\n\n"
    "formats:\n" + "\n".join(f"  {name:<10} {files}" for name, files in FORMATS.items())
)
EXAMPLES = """
tare import heaptrack.app.4711.zst -o app.tare && tare report app.tare
tare import dhat.out.4711
tare import heap.pb.gz -o before.tare && tare diff before.tare after.tare
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="SOURCE", help="the other profiler's file")
    parser.add_argument(
        "--from", dest="format", metavar="FORMAT", choices=FORMATS, help="its format (default: recognized)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the recording to write (default: SOURCE.tare)")


def run(options: argparse.Namespace) -> int:
    from tare.imports.source_file import Damaged, SourceFile
    from tare.imports.target import Target

    source = SourceFile(options.file)
    reader = format_named(options.format) if options.format else _recognized(source)
    output = options.output or f"{options.file}.tare"
    if os.path.exists(output) and os.path.samefile(output, options.file):
        raise TareError(USAGE, f"import: {output} is the file to read; give another one by -o")
    if os.path.exists(output) and not os.path.isfile(output):
        raise TareError(USAGE, f"import: {output} is a folder, a device or a pipe: a recording needs a file")
    try:
        with replacement(output) as part:
            target = Target(part)
            reader.read(source, target)
    except Damaged as damage:
        raise TareError(CORRUPT, f"import: {options.file} is damaged: {damage}") from None
    except TareError as error:
        if error.kind != CORRUPT:
            raise
        raise TareError(CORRUPT, f"import: {options.file} is damaged: {error.message}") from None
    except OSError as error:
        raise TareError(IO_ERROR, f"import: can't read {options.file}: {error.strerror}") from None
    warn(target.warnings)
    unit = "sum" if target.aggregated else "event"
    print(f"tare: imported {plural(target.events, unit)} into {output}; next: tare report {output}", file=sys.stderr)
    return 0


def _recognized(source: SourceFile) -> Format:
    head = source.head()
    for name in FORMATS:
        reader = format_named(name)
        if reader.matches(head):
            return reader
    raise TareError(
        USAGE, f"import: the format of {source.path} isn't recognized; give it by --from {', '.join(FORMATS)}"
    )
