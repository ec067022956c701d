"""Twenty real programs whose heaps depend on a seed: shells, interpreters, editors of streams, archivers and tools for binaries."""

from __future__ import annotations

import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")

# %N is a number that grows with the seed, %LINES a file of so many lines, %FOLDER a folder of a twentieth as many files,
# %INPUTS the folder of all of them.
PROGRAMS: dict[str, list[str]] = {
    "bash": ["bash", "-c", "for ((i = 0; i < %N; i++)); do v[i]=text$i; done"],
    "cmake": ["cmake", "-P", "%INPUTS/list.cmake", "%N"],
    "dash": ["dash", "-c", "i=0; while [ $i -lt %N ]; do i=$((i+1)); eval v$i=text$i; done"],
    "find": ["find", "%FOLDER", "-name", "*7*"],
    "git": ["git", "-C", str(HERE), "log", "--format=%s", "-%N"],
    "grep": ["grep", "-c", "7", "%LINES"],
    "ls": ["ls", "-lR", "%FOLDER"],
    "make": ["make", "-s", "-f", "%LINES.mk"],
    "mawk": ["mawk", "BEGIN { for (i = 0; i < %N; i++) a[i] = i }"],
    "nm": ["nm", "-D", "%LIBRARY"],
    "objdump": ["objdump", "-T", "%LIBRARY"],
    "perl": ["perl", "-e", "my %h; $h{$_} = qq(v$_) for 1 .. %N"],
    "python": [str(Path(sys.executable).resolve()), "-c", "x = {str(i): [i] for i in range(%N)}"],
    "readelf": ["readelf", "-Ws", "%LIBRARY"],
    "sed": ["sed", "-n", "H;${x;p}", "%LINES"],
    "sort": ["sort", "%LINES"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(x); with recursive c(x) as (select 1 union all select x+1 from c where x < %N) insert into t select x from c;"],
    "tar": ["tar", "cf", "%LINES.tar", "%FOLDER"],
    "xz": ["xz", "-kf", "%LINES"],
    "zstd": ["zstd", "-qf", "%LINES"],
}  # fmt: skip


def commands(folder: Path, seed: int) -> dict[str, list[str]]:
    """The programs' commands, after their inputs are written to the folder."""
    generator = random.Random(seed)
    number = 400 + 100 * seed
    lines = folder / f"lines-{seed}"
    lines.write_text("".join(f"{generator.random()} {generator.choice('abc') * 20}\n" for _ in range(number)))
    rules = [f"t{each}" for each in range(number)]
    lines.with_suffix(".mk").write_text(f"all: {' '.join(rules)}\n" + "".join(f"{rule}: ;\n" for rule in rules))
    (folder / "list.cmake").write_text("foreach(i RANGE ${CMAKE_ARGV3})\n  list(APPEND all text${i})\nendforeach()\n")
    files = folder / f"files-{seed}"
    files.mkdir()
    for each in range(number // 20):
        (files / f"file{each}").write_text("text")
    libraries = sorted(path for path in LIBRARIES.glob("lib*.so.*") if path.is_file() and path.stat().st_size < 4 << 20)
    library = libraries[seed * 7 % len(libraries)]
    words = {"%N": number, "%LINES": lines, "%FOLDER": files, "%LIBRARY": library, "%INPUTS": folder}
    return {name: [filled(word, words) for word in command] for name, command in PROGRAMS.items()}


def filled(word: str, values: dict[str, object]) -> str:
    for name, value in values.items():
        word = word.replace(name, str(value))
    return word
