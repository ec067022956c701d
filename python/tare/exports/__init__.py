"""Recordings in the formats of other tools: a file a format."""

from __future__ import annotations

from importlib import import_module
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection

BYTES = ("alloc_space", "inuse_space", "tare_space")
EVERY = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "tare_space")


class Description(NamedTuple):
    tool: str  # that opens it
    options: frozenset[str] = frozenset()  # of `tare export`, that choose what is in the file
    measures: tuple[str, ...] = ()  # values of --measure
    has_threads: bool = False  # of the stacks' blocks
    has_findings: bool = False  # of all lenses; other formats have at most the bytes of those that leave net


def _profile(
    tool: str, *more: str, measures: tuple[str, ...] = (), has_threads: bool = False, has_findings: bool = False
) -> Description:
    options = frozenset(("at", "filter", *more, *(("measure", "lens") if measures else ())))
    return Description(tool, options, measures, has_threads, has_findings)


# Each is a module here with write(), or with write_folder() if its options contain `tables`.
FORMATS = {
    "pprof": _profile("go tool pprof, Perfetto, speedscope, Grafana", measures=EVERY, has_threads=True),
    "otlp": _profile("receivers of OpenTelemetry's profiles; experimental, as that format is", "lens"),
    "speedscope": _profile("speedscope.app", measures=EVERY),
    "heapprofile": _profile("Chrome DevTools, Visual Studio Code", measures=BYTES),
    "dhat": _profile("dh_view.html of valgrind"),
    "massif": _profile("ms_print, massif-visualizer"),
    "perfetto": Description("ui.perfetto.dev, chrome://tracing: the heap over time"),
    "firefox": _profile("profiler.firefox.com", measures=BYTES, has_threads=True, has_findings=True),
    "folded": _profile("flamegraph.pl, inferno", measures=EVERY),
    "sarif": Description("code scanning of GitHub and other services", frozenset(("lens", "filter")), has_findings=True),
    "github": Description("annotations of a workflow of GitHub Actions", frozenset(("lens", "filter")), has_findings=True),
    "bmf": Description("Bencher"),
    "parquet": Description(
        "pandas, polars, DuckDB, Spark; FILE is a folder with a file for each table", frozenset(("tables",))
    ),
    "arrow": Description(
        "pyarrow, polars, R: as parquet, in Arrow's file format", frozenset(("tables",))
    ),
}  # fmt: skip


class Format(Protocol):
    def write(self, recording: Recording, selection: Selection, out: IO[bytes]) -> None:
        """Writes the whole file."""


def format_named(name: str) -> Format:
    return cast("Format", import_module(f"tare.exports.{name}"))


class FolderFormat(Protocol):
    def write_folder(self, recording: Recording, folder: Path, tables: Sequence[str] = ()) -> None:
        """Makes the folder and fills it."""


def folder_format_named(name: str) -> FolderFormat:
    return cast("FolderFormat", import_module(f"tare.exports.{name}"))
