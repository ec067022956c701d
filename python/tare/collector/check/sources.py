"""Which files are read, and with which of the compiler's options."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from tare.errors import IO, USAGE, TareError

_SOURCES = (".cc", ".cpp", ".cxx", ".c++", ".C")
_NOT_ASKED = ("-c", "-MD", "-MMD", "-MP", "--")
_GCC_ONLY = ("-W", "-fsanitize", "-fconcepts")  # or of no use here
_HEADERS = (".h", ".hh", ".hpp", ".hxx")


class Source(NamedTuple):
    file: str
    options: tuple[str, ...]
    folder: str


def from_database(build: Path, wanted: list[Path]) -> list[Source]:
    """Those of a build folder's compile_commands.json; only the wanted files and folders, if there are some."""
    path = build if build.is_file() else build / "compile_commands.json"
    try:
        entries = json.loads(path.read_text())
    except OSError as error:
        raise TareError(IO, f"{path}: {error.strerror}; cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON writes it") from error
    except ValueError as error:
        raise TareError(USAGE, f"{path}: not a compilation database: {error}") from error
    found: dict[str, Source] = {}
    for entry in entries if isinstance(entries, list) else []:
        source = _source_of(entry)
        if source is None or not Path(source.file).suffix.endswith(_SOURCES):
            continue
        if not wanted or any(Path(source.file).is_relative_to(each.resolve()) for each in wanted):
            found.setdefault(source.file, source)
    if not found:
        raise TareError(
            USAGE, f"{path}: names no C++ source{' under ' + ', '.join(map(str, wanted)) if wanted else ''}"
        )
    return list(found.values())


def _source_of(entry: Any) -> Source | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        return None
    folder = str(entry.get("directory", "."))
    words = [str(word) for word in entry.get("arguments") or shlex.split(str(entry.get("command", "")))]
    while words and not words[0].startswith("-"):  # the compiler, and a launcher such as ccache before it
        del words[0]
    file = str((Path(folder) / entry["file"]).resolve())
    return Source(file, tuple(_kept(words)), folder)


def _kept(words: list[str]) -> list[str]:
    """Without options for the output, and without gcc's own."""
    kept: list[str] = []
    skips = False
    for word in words:
        if skips:
            skips = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skips = True
        elif word not in _NOT_ASKED and not word.startswith(_GCC_ONLY) and not word.endswith(_SOURCES):
            kept.append(word)
    return kept


def from_arguments(paths: list[Path], options: list[str]) -> list[Source]:
    """Files as they are named, folders with all C++ sources in them, all with the same options."""
    found: list[Source] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if each.suffix in _SOURCES + _HEADERS)
            found += [Source(str(each.resolve()), (*_as_cpp(each), *options), ".") for each in inside]
        elif path.exists():
            found.append(Source(str(path.resolve()), (*_as_cpp(path), *options), "."))
        else:
            raise TareError(IO, f"{path}: no such file")
    if not found:
        raise TareError(USAGE, "gc check: no C++ sources in these folders")
    return found


def _as_cpp(path: Path) -> tuple[str, ...]:
    return ("-x", "c++-header", "-std=c++20") if path.suffix in _HEADERS else ("-x", "c++", "-std=c++20")
