"""Recordings in the formats of other tools: a file a format."""

from __future__ import annotations

from importlib import import_module
from typing import IO, TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tare.analysis.recording import Recording

# Format -> the tool that opens it. Each is a module here with write().
FORMATS = {
    "pprof": "go tool pprof, Perfetto, speedscope, Grafana",
    "speedscope": "speedscope.app",
    "heapprofile": "Chrome DevTools, Visual Studio Code",
    "dhat": "dh_view.html of valgrind",
    "massif": "ms_print, massif-visualizer",
    "perfetto": "ui.perfetto.dev, chrome://tracing: the heap over time",
    "firefox": "profiler.firefox.com",
    "folded": "flamegraph.pl, inferno",
    "sarif": "code scanning of GitHub and other services",
    "github": "annotations of a workflow of GitHub Actions",
    "bmf": "Bencher",
    "parquet": "pandas, polars, DuckDB, Spark; FILE is a folder with a file for each table",
}
FOLDERS = {"parquet"}  # formats of several files, with write_folder() instead of write()


class Format(Protocol):
    def write(self, recording: Recording, out: IO[bytes]) -> None:
        """Writes the whole file."""


def format_named(name: str) -> Format:
    return cast("Format", import_module(f"tare.exports.{name}"))


class FolderFormat(Protocol):
    def write_folder(self, recording: Recording, folder: Path, tables: Sequence[str] = ()) -> None:
        """Makes the folder and fills it."""


def folder_format_named(name: str) -> FolderFormat:
    return cast("FolderFormat", import_module(f"tare.exports.{name}"))
