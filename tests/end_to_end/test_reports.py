"""What programs say through tare/reporter.h: heard from code of every kind that compilers and linkers make, and true to
the byte."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tare

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
SOURCE = HERE / "programs" / "reports.c"

C = ("gcc", "clang-19")
CXX = ("g++", "clang++-19")
STRICT = ("-I", str(REPO / "include"), "-Wall", "-Wextra", "-Werror")
PIC = ("-fPIC", "-shared", "-DPART")

# Flags that make one executable.
WHOLE = {
    "pie": ("-O2", "-fPIE", "-pie"),
    "fixed": ("-O2", "-fno-pic", "-fno-pie", "-no-pie"),
    "fixed-unoptimized": ("-O0", "-fno-pic", "-fno-pie", "-no-pie"),
    "fixed-no-plt": ("-O2", "-fno-pic", "-fno-pie", "-no-pie", "-fno-plt", "-Wl,-z,now"),
    "lto": ("-O2", "-flto"),
    "gold": ("-O2", "-fno-pic", "-fno-pie", "-no-pie", "-fuse-ld=gold"),
}


def compiled(compiler: str, out: Path, *flags: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} isn't installed")
    source, language = SOURCE, ["-std=gnu89"]
    if "++" in compiler:
        source, language = Path(shutil.copy(SOURCE, out.parent / "reports.cc")), []
    command = [compiler, *STRICT, *language, str(source), "-o", str(out), *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def expected_of(text: str) -> dict[str, int]:
    return {path: int(size) for path, size in (line.split() for line in text.splitlines())}


def check(tare: Tare, *command: str | Path) -> None:
    alone = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert alone.returncode == 0, alone.stderr
    assert alone.stderr == ""

    done = tare("run", "-o", "t.tare", "--", *command)
    assert done.returncode == 0, done.stderr
    expected = expected_of(done.stdout)
    assert set(expected) == {"explicit/first", "explicit/second", "explicit/kept"}
    standing = tare.sql(
        tare.folder / "t.tare",
        "select path, sum(usable_bytes) as bytes from reports where standing = 1 and nth = 1 group by path",
    )
    assert {row["path"]: row["bytes"] for row in standing} == expected
    (pool,) = tare.sql(tare.folder / "t.tare", "select * from pools")
    assert (pool["name"], pool["memory_bytes"], pool["used_bytes"]) == ("cells", 1024, 5 * 64)
    assert (pool["peak_used_bytes"], pool["total_blocks"], pool["total_bytes"]) == (8 * 64, 8, 8 * 64)


@pytest.mark.parametrize("flags", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("compiler", C + CXX)
def test_reports_are_heard_from_an_executable(tare: Tare, compiler: str, flags: tuple[str, ...]) -> None:
    if "-flto" in flags and compiler.startswith("clang"):
        pytest.skip("Debian's clang has no linker plug-in for it")
    check(tare, compiled(compiler, tare.folder / "reports", *flags))


@pytest.mark.parametrize("compiler", C + CXX)
def test_reports_are_heard_from_a_library(tare: Tare, compiler: str) -> None:
    library = compiled(compiler, tare.folder / "libreports.so", *PIC)
    user = ("-DUSER", "-no-pie", "-fno-pic", f"-L{tare.folder}", "-lreports", f"-Wl,-rpath,{tare.folder}")
    program = compiled(compiler, tare.folder / "user", *user)
    check(tare, program)
    check(tare, program, library)  # loaded at run time, by a program that has it already


@pytest.mark.parametrize("compiler", C + CXX)
def test_reports_are_heard_from_a_library_loaded_later(tare: Tare, compiler: str) -> None:
    library = compiled(compiler, tare.folder / "libreports.so", *PIC)
    stub = tare.folder / "stub.o"
    done = subprocess.run(
        ["gcc", "-x", "c", "-", "-c", "-o", str(stub)], input="int report_things(void) { return 3; }", text=True
    )
    assert done.returncode == 0
    program = compiled(compiler, tare.folder / "user", "-DUSER", str(stub))
    check(tare, program, library)
    # RTLD_DEEPBIND would bind it to the C library past the recorder; without it, its blocks are known like others'.
    check(tare, program, library, "deepbind")


@pytest.mark.parametrize("compiler", C + CXX)
def test_a_static_program_works_and_says_nothing(tare: Tare, compiler: str) -> None:
    program = compiled(compiler, tare.folder / "reports", "-static")  # -Werror doesn't reach the linker: see stderr
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(expected_of(done.stdout)) == 3


@pytest.mark.parametrize("compiler", C)
def test_the_header_is_strict_c(tmp_path: Path, compiler: str) -> None:
    source = (
        '#include <stdlib.h>\n#include "tare/reporter.h"\n'
        'int main(void) { tare_pool pool = tare_pool_create("p"); char *block = malloc(8);\n'
        'tare_report(block, "new and not yet written"); tare_pool_grow(pool, block, 8);\n'
        "tare_pool_alloc(pool, block, 8); tare_pool_free(pool, block); return (int)pool; }\n"
    )
    for standard, level in itertools.product(("c89", "c99", "c17"), ("-O0", "-O2")):
        strict = [f"-std={standard}", level, "-Wpedantic", "-Wshadow", "-Wconversion", "-Wunused", "-Wno-long-long"]
        command = [compiler, *STRICT, *strict, "-x", "c", "-", "-o", str(tmp_path / "strict")]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_wrong_address_is_a_message(tare: Tare) -> None:
    source = tare.folder / "wrong.c"
    source.write_text(
        '#include <stdlib.h>\n#include "tare/reporter.h"\nstatic int here;\n'
        "int main(void) { char *p = malloc(10);\n"
        'tare_report(p + 1, "explicit/inside"); tare_report(&here, "explicit/static");\n'
        'tare_report(0, "explicit/null"); tare_report(p, 0); tare_pool_free(12345, p);\n'
        'free(p); tare_report(p, "explicit/dead"); return 0; }\n'
    )
    program = tare.folder / "wrong"
    command = ["gcc", *STRICT, "-O2", "-Wno-use-after-free", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    trace = tare.record(program)
    done = tare("sql", trace, "select path, block_id from reports order by time_ns, path", "--json")
    assert [(row["path"], row["block_id"]) for row in json.loads(done.stdout)] == [
        ("explicit/inside", None),
        ("explicit/static", None),
        ("explicit/dead", None),
    ]
    assert "reported 3 addresses at which no live block begins" in done.stderr


def test_a_pools_blocks_are_blocks_and_no_byte_of_malloc_is_counted_twice(
    tare: Tare, program: Callable[..., Path]
) -> None:
    trace = tare.record(program("reports.c", f"-I{REPO / 'include'}"))
    (sums,) = tare.sql(
        trace,
        "select sum(case when api = 'pool block' then end_blocks end) as blocks,"
        " sum(case when api = 'pool block' then end_blocks * usable_bytes end) as used,"
        " sum(case when api = 'pool memory' then end_blocks * (usable_bytes + header_bytes) end) as rest from site_sizes",
    )
    # malloc(1024) takes 1032 and 8 before it; of these five cells of 64 are handed out
    assert sums == {"blocks": 5.0, "used": 320.0, "rest": 1040.0 - 320.0}
