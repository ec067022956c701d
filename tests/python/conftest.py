"""Fixtures: recordings made by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # handmade
sys.path.insert(0, str(Path(__file__).resolve().parent / "types"))  # test_layouts
sys.path.append(str(Path(__file__).resolve().parent / "imports"))  # goldens, importing

from handmade import Handmade


@pytest.fixture
def made() -> Handmade:
    """An empty recording to fill."""
    return Handmade()


@pytest.fixture
def busy() -> Handmade:
    """A program with a clownshoe, a growing buffer, small nodes, churn, and something left at the end."""
    source = Handmade()
    arena = source.stack("arena_grow@/src/arena.c:40", "parse@/src/parse.c:7", "main@/src/main.c:3")
    source.blocks(arena, 1032, 2040, total=500, peak=400)
    source.size_class(1032, 2040, 1016, clownshoe=1)
    buffer = source.stack("append@/src/buffer.c:12", "main@/src/main.c:5")
    source.blocks(buffer, 100, 104, total=1000, peak=1)
    source.size_class(100, 104, 88)
    source.chain(
        buffer, grown_blocks=2, steps=998, slow_steps=990, in_place_steps=100, copied_bytes=10_000_000, doubling_copied_bytes=20_000,
        requested_bytes=12_000_000, rounded_4k_bytes=13_000_000, doubling_bytes=40_000, max_requested_bytes=20_000, peak_blocks=1,
    )  # fmt: skip
    node = source.stack("new_node@/src/tree.c:9", "insert@/src/tree.c:20", "main@/src/main.c:6")
    source.blocks(node, 24, 24, total=20_000, peak=20_000, end=15_000)
    source.size_class(24, 24, 0)
    temporary = source.stack("format@/src/format.c:30", "main@/src/main.c:8")
    source.blocks(temporary, 40, 40, total=50_000, peak=1, freed_within_16=50_000, freed_later=0)
    source.size_class(40, 40, 24)
    source.tables["written"].append(
        {"size_id": 3, "stack_id": temporary, "requested_bytes": 40, "max_high_water_bytes": 40, "within_48": 50_000.0}
    )
    source.tables["recreated"].append(
        {"stack_id": temporary, "digest": 1, "requested_bytes": 40, "times": 100.0, "contents": 1.0, "max_times": 100.0,
         "max_requested_bytes": 40}
    )  # fmt: skip
    return source


@pytest.fixture
def looked_into(busy: Handmade) -> Handmade:
    """The same, its blocks looked into twice: texts that are equal, and some that nothing points to."""
    name = busy.stack("copy_name@/src/names.c:14", "main@/src/main.c:9")
    names = busy.blocks(name, 200, 200, total=400, peak=300, end=300)
    busy.snapshot("peak", [(names, 0x10000 + 208 * i, {"digest": i % 3}) for i in range(300)])
    busy.snapshot(
        "exit",
        [(names, 0x10000 + 208 * i, {"digest": i % 3, "lost": i >= 100, "last_write_ns": 0}) for i in range(300)],
    )
    node = busy.tables["site_sizes"][2]
    busy.pointers(1, 2, pointers=30_000, fields=2, packed=16, packed_gross=32)
    busy.tables["written"].append(
        {"size_id": 1, "stack_id": busy.tables["site_sizes"][1]["stack_id"], "requested_bytes": 100, "partly_blocks": 1.0,
         "max_high_water_bytes": 10, "unwritten_peak_bytes": 30.0, "unwritten_total_bytes": 900.0}
    )  # fmt: skip
    busy.tables["mappings"].append(
        {"stack_id": name, "maps": 2000, "mapped_bytes": 2 << 20, "unmapped_bytes": 2 << 20, "unmapped_byte_ns": 2e9, "max_bytes": 4096.0,
         "end_bytes": 0, "accessible_bytes": 0, "resident_bytes": 0}
    )  # fmt: skip
    busy.type_site(names, "Name", 200, 184, saved=16)
    busy.twins(names, node["size_id"], pairs=400, end_pairs=300, joined_gross=230)
    busy.tables["sharing"].append(
        {"size_id": names, "stack_id": name, "requested_bytes": 200, "weight": 1.0, "blocks": 400, "shared_blocks": 3,
         "end_blocks": 300, "end_shared_blocks": 3}
    )  # fmt: skip
    return busy
