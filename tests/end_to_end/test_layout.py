"""tare layout: what it says of types is what compilers say, and orders it proposes have the sizes it promises."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from random_types import Struct, random_structs, source

if TYPE_CHECKING:
    from conftest import Tare

TYPE_SECTIONS = "-fdebug-types-section"
FLAGS = ("-std=c++20", "-w", "-fno-access-control")


def compiled(text: str, folder: Path, name: str, *flags: str) -> Path:
    (folder / f"{name}.cc").write_text(text)
    compiler, *rest = flags
    # classes with virtual functions are described where those are, unless one asks
    whole = "-fstandalone-debug" if "clang" in compiler else "-femit-class-debug-always"
    command = [compiler, *FLAGS, whole, *rest, f"{name}.cc", "-o", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return folder / name


def types_of(tare: Tare, binary: Path, *options: str) -> dict[str, dict[str, Any]]:
    done = tare("layout", binary, "--json", *options)
    assert done.returncode == 0, done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["types"]}


def expected_holes(size: int, members: list[tuple[int, int]]) -> tuple[list[dict[str, int]], int]:
    holes = []
    end = 0
    for offset, extent in sorted(members):
        if offset > end:
            holes.append({"offset_bits": 8 * end, "size_bits": 8 * (offset - end)})
        end = max(end, offset + extent)
    return holes, size - end


def reordered(structs: list[Struct], types: dict[str, dict[str, Any]], which: str) -> str:
    """Every struct as it is, followed by what was promised for it."""
    order, as_is, other = ("order", "size_bytes", "reordered_bytes")
    if which == "narrow":
        order, as_is, other = ("narrow_order", "narrow_bytes", "narrow_reordered_bytes")
    text = [source(structs).split("static void print_")[0]]
    unknown: set[str] = set()
    for each in structs:
        told = types[each.name]
        # Packed types of which all fields are aligned by chance can't be told from others; and what a type comes to with
        # narrow pointers that isn't understood, or holds such a one, isn't promised.
        held = set(re.findall(r"\bS\d+\b", each.text("")))
        if each.is_packed or told["order_state"] != "movable" or (which == "narrow" and held & unknown):
            unknown.add(each.name)
            continue
        text.append(f"static_assert(sizeof({each.name}) == {told[as_is]});")
        if told[order]:
            names = [told["fields"][field]["name"] for field in told[order]]
            text.append(each.text(f"R_{each.name}", names))
            # DWARF does not say whose padding others may lie in where none does: then it is the most.
            compared = "<=" if "no_unique_address" in each.text("") else "=="
            text.append(f"static_assert(sizeof(R_{each.name}) {compared} {told[other]});")
    return "\n".join(text)


@pytest.mark.parametrize(
    ("compiler", "version", "count"), [("g++", 5, 700), ("clang++-19", 5, 150), ("g++", 4, 150), ("g++", 3, 50)]
)
def test_random_types(tare: Tare, tmp_path: Path, compiler: str, version: int, count: int) -> None:
    structs = random_structs(count, seed=version + 10 * count)
    program = compiled(source(structs), tmp_path, "types", compiler, f"-gdwarf-{version}")
    types = types_of(tare, program)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
    told = [line.split() for line in printed if line]
    sizes = {words[0]: (int(words[1]), int(words[2])) for words in told if len(words) == 3}
    places: dict[str, dict[str, tuple[int, int]]] = {}
    for words in told:
        if len(words) == 4:
            places.setdefault(words[0], {})[words[1]] = (int(words[2]), int(words[3]))

    understood = saving = 0
    for struct in structs:
        found = types[struct.name]
        assert found["size_bytes"] == sizes[struct.name][0], struct.name
        fields = {each["name"]: each for each in found["fields"]}
        for name, (offset, _) in places.get(struct.name, {}).items():
            assert fields[name]["offset_bits"] == 8 * offset, (struct.name, name)
        if struct.is_plain:
            holes, tail = expected_holes(sizes[struct.name][0], list(places[struct.name].values()))
            assert found["holes"] == holes, struct.name
            assert found["tail_padding_bytes"] == tail, struct.name
        if found["order_state"] == "movable":
            understood += 1
            assert struct.is_packed or found["align_bytes"] == sizes[struct.name][1], struct.name
        saving += bool(found["order"])
    assert understood > 0.85 * count
    assert saving > 0.2 * count

    compiled(reordered(structs, types, "wide"), tmp_path, "reordered", compiler, "-fsyntax-only")
    compiled(reordered(structs, types, "narrow"), tmp_path, "narrow", compiler, "-fsyntax-only", "-DNARROW")


def opaque(told: dict[str, Any], order: list[int], name: str) -> str:
    """The type with bytes in place of what its members are, in this order."""
    lines = []
    for number in order:
        each = told["fields"][number]
        if each["kind"] == "bit-field":
            lines.append(f" std::uint{8 * each['align_bytes']}_t m{number} : {each['size_bits']};")
        else:
            lines.append(f" Bytes<{each['align_bytes']}, {each['size_bits'] // 8}> m{number};")
    return f"struct {name} {{\n" + "\n".join(lines) + "\n};\n"


def test_types_of_a_real_program(tare: Tare, tmp_path: Path) -> None:
    """CPython's, compiled again from nothing but what is told of them."""
    python = shutil.which("python3.11-dbg")
    if python is None:
        pytest.skip("python3.11-dbg isn't installed")
    types = [each for each in types_of(tare, Path(python)).values() if each["order_state"] == "movable"]
    text = [
        "#include <cstddef>\n#include <cstdint>",
        "template <unsigned A, std::size_t N> struct alignas(A) Bytes { char bytes[N]; };",
        "template <unsigned A> struct alignas(A) Bytes<A, 0> { char bytes[0]; };",
    ]
    other = 0
    for number, each in enumerate(types):
        align = f"alignas({each['align_bytes']}) " if each["align_bytes"] > 8 else ""
        text.append(opaque(each, list(range(len(each["fields"]))), f"{align}T{number}"))
        text.append(f"static_assert(sizeof(T{number}) == {each['size_bytes']}); // {each['name']}")
        for place, field in enumerate(each["fields"]):
            if field["kind"] == "member":
                text.append(f"static_assert(offsetof(T{number}, m{place}) * 8 == {field['offset_bits']});")
        if each["order"]:
            other += 1
            text.append(opaque(each, each["order"], f"{align}R{number}"))
            text.append(f"static_assert(sizeof(R{number}) == {each['reordered_bytes']}); // {each['name']}")
    compiled("\n".join(text), tmp_path, "again", "g++", "-fsyntax-only", "-Wno-invalid-offsetof")
    assert len(types) > 300
    assert other >= 15


def test_two_builds_are_compared(tare: Tare, tmp_path: Path) -> None:
    text = "struct A {{ char a; {} b; char c; }}; struct B {{ char a; }}; {} A *a; B *b; int main() {{}}"
    old = compiled(text.format("int", "struct Old { int a; } *o;"), tmp_path, "old", "g++", "-g")
    new = compiled(text.format("long", "struct New { int a; } *n;"), tmp_path, "new", "g++", "-g")
    told = json.loads(tare("layout", "--diff", old, new, "--json").stdout)
    assert [(each["name"], each["old_bytes"], each["new_bytes"]) for each in told["changed"]] == [("A", 12, 24)]
    assert (told["only_old"], told["only_new"]) == (["Old"], ["New"])
    shown = tare("layout", "--diff", old, new, env={"COLUMNS": "60"})
    assert "12 → 24" in shown.stdout
    assert max(len(line) for line in shown.stdout.splitlines()) <= 60


def test_a_type_is_shown_field_by_field(tare: Tare, tmp_path: Path) -> None:
    program = compiled("struct A { char a; long b; char c; } x; int main() {}", tmp_path, "p", "g++", "-g")
    shown = tare("layout", program, "--type", "A").stdout
    assert "hole" in shown
    assert "move" in shown
    assert "reordered 16 bytes" in shown


@pytest.mark.parametrize(
    ("make", "status", "words"),
    [
        ("missing", 4, "No such file"),
        ("text", 2, "not a 64-bit little-endian ELF file"),
        ("plain", 6, "build it with -g or install its debug package"),
        ("truncated", 3, "is cut off"),
        ("archive", 2, "unpack it with `ar x`"),
        ("bomb", 3, "claims to be"),
    ],
)
def test_what_is_no_program_with_types(tare: Tare, tmp_path: Path, make: str, status: int, words: str) -> None:
    path = tmp_path / make
    source_text = "struct A { char a; long b; } x; int main() {}"
    if make == "text":
        path.write_text("words " * 50)
    elif make == "plain":
        path = compiled(source_text, tmp_path, "n", "g++", "-g0", "-s")
    elif make == "truncated":
        whole = compiled(source_text, tmp_path, "w", "g++", "-g").read_bytes()
        path.write_bytes(whole[: len(whole) * 2 // 3])
    elif make == "archive":
        subprocess.run(["ar", "cr", path, compiled(source_text, tmp_path, "o.o", "g++", "-g", "-c")], check=True)
    elif make == "bomb":
        whole = compiled(source_text, tmp_path, "b", "g++", "-g", "-gz").read_bytes()
        # Elf64_Chdr: type 1, reserved, size, alignment 1
        at = re.search(rb"\x01\0\0\0\0\0\0\0(.{8})\x01\0\0\0\0\0\0\0x", whole, re.DOTALL)
        assert at is not None
        path.write_bytes(whole[: at.start(1)] + (1 << 40).to_bytes(8, "little") + whole[at.end(1) :])
    done = tare("layout", path)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
    assert path.name in done.stderr
    assert done.returncode == status


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
@pytest.mark.parametrize(
    "form", [["-gdwarf-4"], ["-gdwarf-5"], ["-gz"], ["-gdwarf-4", TYPE_SECTIONS], ["-gdwarf-5", TYPE_SECTIONS]]
)
def test_object_files_tell_what_programs_tell(tare: Tare, tmp_path: Path, compiler: str, form: list[str]) -> None:
    text = source(random_structs(20, seed=7))
    program = types_of(tare, compiled(text, tmp_path, "p", compiler, "-g", *form))
    unlinked = types_of(tare, compiled(text, tmp_path, "o.o", compiler, "-g", *form, "-c"))
    assert {name for name in program if name.startswith("S")} <= set(unlinked)
    own = {"binary": "", "file": ""}  # the names of these files
    for name in set(program) & set(unlinked):
        assert {**unlinked[name], **own} == {**program[name], **own}, name


def test_separate_debug_files_are_found(tare: Tare, tmp_path: Path) -> None:
    source_text = "struct A { char a; long b; char c; } x; int main() {}"
    program = compiled(source_text, tmp_path, "p", "g++", "-g", "-Wl,--build-id=0x0123456789abcdef")
    for command in (
        ["objcopy", "--only-keep-debug", "p", "p.debug"],
        ["strip", "p"],
        ["objcopy", "--add-gnu-debuglink=p.debug", "p"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    assert types_of(tare, program)["A"]["reordered_bytes"] == 16  # by its link
    kept = tmp_path / "debug/.build-id/01"
    kept.mkdir(parents=True)
    (tmp_path / "p.debug").rename(kept / "23456789abcdef.debug")
    assert tare("layout", program).returncode == 6
    assert types_of(tare, program, "--debug-dir", str(tmp_path / "debug"))["A"]["reordered_bytes"] == 16


@pytest.mark.skipif(shutil.which("dwz") is None, reason="dwz isn't installed")
def test_what_dwz_has_moved_to_a_common_file_is_found(tare: Tare, tmp_path: Path) -> None:
    structs = random_structs(60, seed=5)
    for name in ("one", "two"):
        compiled(source(structs), tmp_path, name, "g++", "-g")
    before = {name: each["fields"] for name, each in types_of(tare, tmp_path / "one").items()}
    subprocess.run(["dwz", "-m", "common", "one", "two"], cwd=tmp_path, check=True)
    assert (tmp_path / "common").stat().st_size > 1000
    after = types_of(tare, tmp_path / "one")
    for struct in structs:
        told = [(each["name"], each["offset_bits"], each["size_bits"]) for each in after[struct.name]["fields"]]
        assert told == [(each["name"], each["offset_bits"], each["size_bits"]) for each in before[struct.name]]


def test_a_missing_dwo_file_is_said_and_no_fifo_opened(tare: Tare, tmp_path: Path) -> None:
    source_text = "struct A { char a; long b; char c; } x; int main() {}"
    program = compiled(source_text, tmp_path, "p", "clang++-19", "-g", "-gsplit-dwarf")
    (dwo,) = tmp_path.glob("*.dwo")
    assert types_of(tare, program)["A"]["reordered_bytes"] == 16
    dwo.unlink()
    assert "types in .dwo files" in tare("layout", program).stderr
    os.mkfifo(dwo)
    assert "types in .dwo files" in tare("layout", program, timeout_s=20).stderr
