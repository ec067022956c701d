"""Reads sources with libclang, one process for each of the machine's cores, and collects their errors."""

from __future__ import annotations

import os
import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.collector.check.library import header_options, load
from tare.collector.check.rules import Finding, check_class, check_variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.collector.check.sources import Source

_CLASSES = frozenset({"CLASS_DECL", "STRUCT_DECL", "UNION_DECL", "CLASS_TEMPLATE"})
_SCOPES = frozenset({"NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL", *_CLASSES})
_BODIES = frozenset({"FUNCTION_DECL", "CXX_METHOD"})


class Scanned(NamedTuple):
    """The results for one source with all its includes."""

    file: str
    findings: list[Finding]
    classes: int  # that were checked
    errors: list[str]  # of the compiler: what it couldn't read may hide something


class Result(NamedTuple):
    findings: list[Finding]
    sources: int
    classes: int
    errors: list[str]


def scan_all(sources: list[Source], roots: list[str], jobs: int) -> Result:
    """Everything under one of `roots` that the sources define or include."""
    load()
    tasks = [(source, tuple(roots)) for source in sources]
    if jobs == 1 or len(tasks) == 1:
        scanned = [_scan(task) for task in tasks]
    else:
        with ProcessPoolExecutor(min(jobs, len(tasks))) as pool:
            scanned = list(pool.map(_scan, tasks))
    findings = sorted({(f.file, f.line, f.rule, f.field): f for each in scanned for f in each.findings}.values())
    kept = [finding for finding in findings if not _is_silenced(finding)]
    errors = [error for each in scanned for error in each.errors]
    return Result(kept, len(scanned), sum(each.classes for each in scanned), errors)


def _scan(task: tuple[Source, tuple[str, ...]]) -> Scanned:
    source, roots = task
    load()
    from clang import cindex

    folder = Path.cwd()
    os.chdir(source.folder)
    try:
        unit = cindex.Index.create().parse(
            source.file,
            args=[*source.options, *header_options(), "-Wno-everything"],
            options=cindex.TranslationUnit.PARSE_INCOMPLETE,
        )
    except cindex.TranslationUnitLoadError as error:
        return Scanned(source.file, [], 0, [f"{source.file}: {error}"])
    finally:
        os.chdir(folder)
    errors = [
        f"{d.location.file.name if d.location.file else source.file}:{d.location.line}: {d.spelling}"
        for d in unit.diagnostics
        if d.severity >= cindex.Diagnostic.Error
    ]
    findings: list[Finding] = []
    classes = 0
    for cursor in _definitions(unit.cursor, roots):
        if cursor.kind.name in _CLASSES:
            classes += 1
            findings += check_class(cursor)
        else:
            findings += check_variable(cursor)
    return Scanned(source.file, findings, classes, errors)


def _definitions(cursor: Any, roots: tuple[str, ...]) -> Iterator[Any]:
    """Classes and variables that outlive calls, of files under `roots`."""
    for child in cursor.get_children():
        kind = child.kind.name
        if cursor.kind.name == "TRANSLATION_UNIT":
            file = child.location.file
            if file is None or not str(_real(file.name)).startswith(roots):
                continue
        if kind in _CLASSES and child.is_definition():
            yield child
        if kind == "VAR_DECL" and cursor.kind.name != "COMPOUND_STMT":
            yield child
        if kind in _SCOPES:
            yield from _definitions(child, roots)
        elif kind in _BODIES:
            yield from _in_function(child)


def _in_function(cursor: Any) -> Iterator[Any]:
    """Classes that functions define; their static variables."""
    for node in cursor.walk_preorder():
        kind = node.kind.name
        if (kind in _CLASSES and node.is_definition()) or (kind == "VAR_DECL" and node.storage_class.name == "STATIC"):
            yield node


@cache
def _real(name: str) -> Path:
    return Path(name).resolve()


@cache
def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(errors="replace").splitlines()
    except OSError:
        return []


def _is_silenced(finding: Finding) -> bool:
    """NOLINT(tare-gc-RULE) on its line, or NOLINTNEXTLINE on the one before; without a list: all of them."""
    lines = _lines(finding.file)
    here = lines[finding.line - 1] if finding.line <= len(lines) else ""
    before = lines[finding.line - 2] if 2 <= finding.line <= len(lines) + 1 else ""
    return _names(here, "NOLINT", finding.rule) or _names(before, "NOLINTNEXTLINE", finding.rule)


def _names(line: str, word: str, rule: str) -> bool:
    found = re.search(rf"//.*\b{word}\b(?:\(([^)]*)\))?", line)
    return found is not None and (found[1] is None or f"tare-gc-{rule}" in found[1] or "tare-gc-*" in found[1])
