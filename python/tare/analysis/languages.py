"""The language of the function that names a site, and the remedy of a finding in its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tare import _core

if TYPE_CHECKING:
    from tare.analysis.ledger import Finding
    from tare.lenses.change import Language
    from tare.naming.names import Frame

_SUFFIXES: dict[str, Language] = {
    "c": "C",
    **dict.fromkeys(("cc", "cpp", "cxx", "c++", "C", "hh", "hpp", "hxx", "h++", "ipp", "tcc", "inl"), "C++"),
    "rs": "Rust",
    "go": "Go",
    "py": "Python",
    **dict.fromkeys(("js", "mjs", "cjs", "ts", "mts", "cts"), "JavaScript"),
    "java": "Java",
}
# Rust mangles as C++ did, with a hash as the last part of a name, or by a scheme of its own.
_RUST = re.compile(r"_R|_ZN.*17h[0-9a-f]{16}E")
_JAVA = re.compile(
    r"[\w.$\[\]]+ [\w.$]+(?:\.|::)[\w$<>]+\("
)  # `int App.read(byte[])`, as the JVM writes methods for perf


def language_of(frame: Frame) -> Language:
    """By the file of the source, else by the name."""
    if frame.module == _core.PYTHON_MODULE:
        return "Python"
    base = frame.file.rpartition("/")[2]
    if base == "_cgo_export.c" or frame.function.startswith("_cgo_"):
        return "Go"
    found = _SUFFIXES.get(base.rpartition(".")[2] if "." in base else "", "unknown")
    if not frame.module:  # generated code
        if frame.file.startswith("node:"):
            return "JavaScript"
        return "Java" if found == "unknown" and _JAVA.match(frame.function) else found
    if found != "unknown":
        return found
    name = frame.mangled or frame.function
    if _RUST.match(name):
        return "Rust"
    if name.startswith("_Z") or "::" in frame.function:
        return "C++"
    known = name and name != "main" and base.rpartition(".")[2] in ("", "h")
    return "C" if known else "unknown"


def remedy(finding: Finding, frame: Frame) -> str:
    """`frame`: the one that names the finding's site."""
    return finding.remedy_in(language_of(frame))
