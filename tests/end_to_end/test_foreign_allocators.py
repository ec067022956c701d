"""Real allocators linked into a program: blocks, sites and sums are those of the same program with the system's malloc."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

Program = Callable[..., Path]
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
SOURCE = "linked_jemalloc.c"
PUBLIC = ("malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "memalign", "valloc", "mallocx",
          "rallocx", "dallocx", "sdallocx", "malloc_usable_size", "mallctl", "malloc_stats_print")  # fmt: skip


def sums(tare: Tare, trace: Path) -> list[tuple[str, int, int, int]]:
    """Of the program's own calls: where, how large, how often, and how many at the end."""
    rows = tare.sql(
        trace,
        "select function, line, requested_bytes, sum(total_blocks) as total, sum(end_blocks) as kept from site_sizes z"
        " join stacks s using (stack_id) join frames f on f.location_id = s.location_id and f.inline_depth = 0"
        " where function in ('work', 'main') group by all order by all",
    )
    return [tuple(row.values()) for row in rows]  # type: ignore[misc]


def prefixed(folder: Path, prefix: str) -> str:
    """Jemalloc, its public functions with a prefix: as a program has it that brings its own copy."""
    library = folder / f"lib{prefix}jemalloc.a"
    renames = [f"--redefine-sym={name}={prefix}{name}" for name in PUBLIC]
    subprocess.run(["objcopy", *renames, LIBRARIES / "libjemalloc.a", library], check=True)
    return str(library)


@pytest.mark.parametrize("flags", [(), ("-fcf-protection=full",), ("-no-pie",)], ids=lambda flags: " ".join(flags))
@pytest.mark.parametrize("allocator", ["je_", "_rjem_", "malloc"])
def test_static_jemalloc_is_recorded_to_the_block(
    tare: Tare, program: Program, tmp_path: Path, allocator: str, flags: tuple[str, ...]
) -> None:
    expected = tare.record(program(SOURCE), name="system.tare")
    if allocator == "malloc":
        linked = [str(LIBRARIES / "libjemalloc.a")]
    else:
        linked = [f"-DPREFIX={allocator}", prefixed(tmp_path, allocator)]
    trace = tare.record(program(SOURCE, *flags, *linked, "-lm", "-lstdc++", "-ldl"), name="static.tare")
    report = tare.report(trace)
    assert report["impossible_events"] == report["dropped_events"] == 0
    assert sums(tare, trace) == sums(tare, expected)


def test_static_tcmalloc_is_recorded_to_the_block(tare: Tare, program: Program) -> None:
    expected = tare.record(program(SOURCE), name="system.tare")
    linked = (
        "-Wl,--whole-archive",
        str(LIBRARIES / "libtcmalloc_minimal.a"),
        "-Wl,--no-whole-archive",
        "-lstdc++",
        "-lm",
    )
    trace = tare.record(program(SOURCE, *linked), name="static.tare")
    assert tare.report(trace)["impossible_events"] == 0
    assert sums(tare, trace) == sums(tare, expected)


DESCRIPTION = """
name = "mine"
[functions]
je_malloc = { does = "allocate", size = 0 }
je_free = { does = "free", pointer = 0 }
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("je_free", "je_fre", "tare: allocator mine isn't recorded: je_fre: there is no such function"),
        ("size = 0", "size = 9", "tare: f.toml: function je_malloc: size needs the number of an argument, 0 to 5: 9"),
    ],
)
def test_a_wrong_description_is_one_line(
    tare: Tare, program: Program, tmp_path: Path, old: str, new: str, line: str
) -> None:
    (tare.folder / "f.toml").write_text(DESCRIPTION.replace(old, new, 1))
    linked = ("-DPREFIX=je_", prefixed(tmp_path, "je_"), "-lm", "-lstdc++", "-ldl")
    done = tare("run", "--allocators", "f.toml", "-o", "w.tare", "--", program(SOURCE, *linked))
    assert [each for each in done.stderr.splitlines() if each.startswith(line)], done.stderr


def test_a_wrong_argument_harms_nothing(tare: Tare, program: Program, tmp_path: Path) -> None:
    wrong = DESCRIPTION.replace("size = 0", "size = 5").replace("pointer = 0", "pointer = 3").replace("je_", "odd_")
    (tare.folder / "f.toml").write_text(wrong)
    linked = ("-DPREFIX=odd_", prefixed(tmp_path, "odd_"), "-lm", "-lstdc++", "-ldl")
    done = tare("run", "--allocators", "f.toml", "-o", "w.tare", "--", program(SOURCE, *linked))
    assert done.returncode == 0, done.stderr


def test_an_argument_that_is_no_size_is_one_line(tare: Tare, program: Program) -> None:
    (tare.folder / "f.toml").write_text(ARENA.replace("size = 1", "size = 0"))
    done = tare("run", "--allocators", "f.toml", "-o", "w.tare", "--", program("arena_user.c", "-DWITH_ARENA"))
    assert done.returncode == 0, done.stderr
    line = "tare: allocator arena: arena_get: argument 0 isn't the size of a block"
    assert [each.startswith(line) for each in done.stderr.splitlines()].count(True) == 1, done.stderr


# An allocator whose program refers to none of the functions that map memory.
ARENA = """
name = "arena"
prefixes = ["arena_"]
[functions]
get = { does = "allocate", size = 1 }
put = { does = "free", pointer = 1 }
"""


@pytest.mark.parametrize("place", ["program", "library"])
def test_an_allocator_above_malloc_is_recorded(tare: Tare, program: Program, tmp_path: Path, place: str) -> None:
    if place == "program":
        path = program("arena_user.c", "-DWITH_ARENA")
        (tare.folder / "f.toml").write_text(ARENA)
    else:
        library = tmp_path / "libtestarena.so.1"
        subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-DONLY_ARENA", f"-Wl,-soname,{library.name}", "-o", library,
                        Path(__file__).parent / "programs/arena_user.c"], check=True)  # fmt: skip
        path = program("arena_user.c", str(library), f"-Wl,-rpath,{tmp_path}")
        (tare.folder / "f.toml").write_text('in = "libtestarena.so"\n' + ARENA)
    trace = tare.record(path, options=("--allocators", "f.toml"))
    report = tare.report(trace)
    assert report["impossible_events"] == report["dropped_events"] == 0
    rows = tare.sql(
        trace,
        "select requested_bytes as size, sum(total_blocks) as total, sum(end_blocks) as kept from site_sizes"
        " where api = 'foreign malloc' group by 1 order by 1",
    )
    assert rows == [{"size": 40, "total": 1000, "kept": 500}, {"size": 72, "total": 1000, "kept": 500}]
