"""tare layout: what it says of types is what compilers say, and orders it proposes have the sizes it promises."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from random_types import Struct, random_structs, source

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tare

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
            text.append(f"static_assert(sizeof(R_{each.name}) == {told[other]});")
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
