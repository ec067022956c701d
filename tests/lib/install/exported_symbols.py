"""Checks what a shared libtare exports: exported_symbols.py LIBRARY.so ARCHIVE.a INCLUDE_FOLDER.

Exported must be exactly what of the archive's symbols belongs to a class or function that a public header defines or
declares. Templates of the standard library may be exported too: their visibility is their own. Each C++ name of the
library has the inline namespace of its version: v0_1 in the shared library, v0_1_0 in the archive.
"""

import re
import subprocess
import sys
from pathlib import Path

VERSIONED = re.compile(r"\b(tare::)v\d+_\d+(?:_\d+)?::|(4tare)\d+v\d+_\d(?:_\d)?(?=[\dEI])")


def symbols(path: str, *options: str) -> dict[str, str]:
    """Demangled names without the version, and nm's letters, of the symbols that are defined for others."""
    out = subprocess.run(["nm", "-C", "--defined-only", *options, path], check=True, capture_output=True, text=True)
    lines = (line.split(maxsplit=2) for line in out.stdout.splitlines())
    found = {fields[2]: fields[1] for fields in lines if len(fields) == 3 and fields[1] in "TBDRWVu"}
    for name in found:
        if re.search(r"\btare::|4tare", VERSIONED.sub("", name)):
            sys.exit(f"{path}: a name without the version: {name}")
    return {VERSIONED.sub(r"\1\2", name): letter for name, letter in found.items()}


def versions(text: str) -> set[str]:
    return set(re.findall(r"\btare::(v\d\w*)::", text))


def public_names(include: Path) -> set[str]:
    """The names after tare:: in the headers: classes with a body, and functions and variables."""
    text = "\n".join(re.sub(r"//.*", "", path.read_text()) for path in include.glob("tare/**/*.h"))
    names = set(re.findall(r"^(?:class|struct) (?:TARE_API )?(\w+)[^;{]*\{", text, re.MULTILINE))
    names.update(
        re.findall(
            r"^(?:extern )?(?:\[\[(?:nodiscard|noreturn)\]\] )?TARE_API [^;{]*?\b(\w+)(?:\(|;|\[)", text, re.MULTILINE
        )
    )
    return names


def own_name(symbol: str) -> str | None:
    """The class or function of a symbol of the library; None for others' symbols."""
    if re.fullmatch(r"tare_variant_\w+", symbol):  # of the C API
        return symbol
    match = re.match(r"tare::(?:(?:variant|gc|\w+_details)::)*(\w+)", symbol)
    if match:
        return match[1]
    # What Debian 12's nm can't demangle: clang 19 puts a constructor's `requires` into its name.
    mangled = re.match(r"_ZNK?4tare(?:7variant|2gc)?(\d+)(\w+)", symbol)
    return mangled[2][: int(mangled[1])] if mangled else None


def main() -> int:
    library, archive, include = sys.argv[1:]
    public = public_names(Path(include))
    exported = symbols(library, "-D")
    problems = []
    for name, letter in exported.items():
        own = own_name(name)
        if own is not None and own not in public:
            problems.append(f"exported, but in no public header: {name}")
        if own is None and (letter not in "WVu" or not re.search(r"\bstd::|__gnu_cxx::", name)):
            problems.append(f"exported, but not the library's: {name}")
    for name, letter in symbols(archive).items():
        if own_name(name) in public and letter in "TBDR" and name not in exported:
            problems.append(f"in a public header, but not exported: {name}")
    listed = subprocess.run(["nm", "-C", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    natvis = Path(include).parent / "share/tare/tare.natvis"
    if versions(listed.stdout) != versions(natvis.read_text()):
        problems.append(f"{natvis}: has another namespace than the library")
    for problem in problems:
        print(problem)
    own_count = sum(own_name(name) in public for name in exported)
    if own_count < 100:  # it has 150: with fewer this test would have looked at nothing
        print(f"only {own_count} symbols of the library are exported")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
