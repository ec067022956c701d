"""Recordings built by hand: tables as rows of Python values, so that lenses and reports are tested without a recorder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from handmade_stacks import Texts, Tree
from tare import lenses, schema
from tare.analysis.recording import SITE_DEPTH, Recording
from tare.source.database import TableStore

if TYPE_CHECKING:
    from tare.naming.names import FrameRow

PROCESS: dict[str, Any] = {
    "program": "app", "exe": "/bin/app", "pid": 4711, "parent_pid": 1, "command_line": "app --flag", "cwd": "/", "host": "box",
    "kernel": "6.1", "allocator": "glibc", "allocator_path": "/lib/libc.so.6", "page_bytes": 4096, "start_realtime_ns": 0,
    "duration_ns": 2_000_000_000, "complete": 1, "wait_status": 0, "out_of_memory": None, "memory_group": None, "memory_kills_before": None, "memory_kills_after": None,
    "memory_deaths": None, "memory_limit_bytes": None, "peak_rss_bytes": None, "earlier_peak_rss_bytes": None, "spool_bytes": None, "sample_bytes": 0, "threads": 1,
    "peak_time_ns": 1_000_000_000, "paused_ns": None, "sample_doublings": None, "recorder_cpu_ns": None, "process_cpu_ns": None, "sampling_stopped_by": None, "sampling_stopped_ns": None, "imported_from": None, "missing_facts": None,
}  # fmt: skip


def names_that_need(needs: str) -> list[str]:
    """Lenses of a report that need contents or snapshots, in their order."""
    return [name for name in lenses.NAMES if name not in lenses.ON_REQUEST and lenses.load(name).needs == needs]


class Handmade:
    """A source of tables for a Recording. A test adds stacks and their blocks; the other tables are computed from these."""

    def __init__(self, path: str = "made.tare", depth: int = SITE_DEPTH, **process: Any) -> None:
        self.path = path
        self.depth = depth
        self.warnings: Sequence[str] = ()
        self.nameless: list[tuple[str, str]] = []
        self.tables: dict[str, list[dict[str, Any]]] = {table.name: [] for table in schema.TABLES}
        self._process = process
        self._stack_of: dict[tuple[str, ...], int] = {(): 0}
        self._row_of: dict[str, int] = {}
        self._functions: list[str] = []
        self.tables["stacks"].append({"stack_id": 0, "caller_id": 0, "location_id": 0, "depth": 0})
        self.tables["modules"].append(
            {
                "module_id": 0,
                "path": "/bin/app",
                "build_id": "00",
                "load_bias": 0,
                "start_address": 0,
                "end_address": 4096,
            }
        )

    def stack(self, *functions: str) -> int:
        """The id of a stack; functions innermost first, each `name` or `name@file:line`; a leading `?` has no name."""
        if functions not in self._stack_of:
            caller = self.stack(*functions[1:])
            self._stack_of[functions] = len(self._stack_of)
            stack_id = self._stack_of[functions]
            self.tables["stacks"].append(
                {
                    "stack_id": stack_id,
                    "caller_id": caller,
                    "location_id": self._row(functions[0]),
                    "depth": len(functions),
                }
            )
        return self._stack_of[functions]

    def _row(self, function: str) -> int:
        if function not in self._row_of:
            row = self._row_of[function] = len(self._functions)
            self._functions.append(function)
            self.tables["locations"].append(
                {"location_id": row, "module_id": 0, "address": 16 * row, "module_offset": 16 * row}
            )
        return self._row_of[function]

    def blocks(
        self,
        stack: int,
        requested: int,
        usable: int,
        total: float,
        peak: float = 0,
        end: float = 0,
        header: int = 8,
        **more: Any,
    ) -> int:
        """One row of site_sizes."""
        rows = self.tables["site_sizes"]
        rows.append(
            {"size_id": len(rows), "stack_id": stack, "api": "malloc", "align_bytes": 0, "requested_bytes": requested,
             "usable_bytes": usable, "header_bytes": header, "weight": 1.0, "total_blocks": total, "peak_blocks": peak,
             "end_blocks": end, "inherited": 0, "byte_ns": (usable + header) * max(peak, end) * 1e9, "freed_later": total - end,
             **more}
        )  # fmt: skip
        return len(rows) - 1

    def size_class(self, requested: int, usable: int, below: int, kind: str = "small", clownshoe: int = 0) -> None:
        self.tables["size_classes"].append(
            {
                "requested_bytes": requested,
                "usable_bytes": usable,
                "class_below_bytes": below,
                "clownshoe": int(clownshoe),
                "class": kind,
            }
        )

    def snapshot(self, kind: str, blocks: Sequence[tuple[int, int, dict[str, Any]]]) -> None:
        """A snapshot with these blocks: shape, address, further columns. The column `lost`: nothing points to the block."""
        snapshot = len(self.tables["snapshots"]) + 1
        gross = 0
        for size_id, address, columns in blocks:
            shape = self.tables["site_sizes"][size_id]
            copied = {name: shape[name] for name in ("stack_id", "requested_bytes", "usable_bytes", "header_bytes")}
            lost = columns.pop("lost", False)
            seen = {
                "content_class": "text",
                "start_pointers": 0,
                "interior_pointers": 0,
                "reachable": "no" if lost else "start",
                "leak_root": address if lost else None,
            }
            gross += shape["usable_bytes"] + shape["header_bytes"]
            self.tables["snapshot_blocks"].append(
                {
                    "snapshot": snapshot,
                    "size_id": size_id,
                    "address": address,
                    "weight": 1.0,
                    **copied,
                    **seen,
                    **columns,
                }
            )
        time_ns = PROCESS["duration_ns"] if kind == "exit" else PROCESS["peak_time_ns"]
        self.tables["snapshots"].append(
            {"snapshot": snapshot, "kind": kind, "blocks": len(blocks), "gross_bytes": gross, "time_ns": time_ns}
        )
        self._process.setdefault("snapshots", 0)
        self._process["snapshots"] += 1

    def resident(self, snapshot: int, kind: str, resident: int, touched: int | None = None, name: str = "") -> None:
        """One row of resident."""
        self.tables["resident"].append(
            {
                "snapshot": snapshot,
                "kind": kind,
                "name": name,
                "mapped_bytes": resident,
                "resident_bytes": resident,
                "touched_bytes": touched,
            }
        )

    def pointers(
        self, snapshot: int, shape: int, *, pointers: float, fields: int, packed: int, packed_gross: int
    ) -> None:
        """One row of pointer_words: of all blocks that the shape had at the peak."""
        sizes = self.tables["site_sizes"][shape]
        self.tables["pointer_words"].append(
            {"snapshot": snapshot, "size_id": shape, "stack_id": sizes["stack_id"], "requested_bytes": sizes["requested_bytes"],
             "blocks": sizes["peak_blocks"], "words": sizes["peak_blocks"] * (sizes["requested_bytes"] // 8),
             "start_pointers": pointers, "interior_pointers": 0.0, "max_pointers": fields, "fields": fields,
             "packed_bytes": packed, "packed_gross_bytes": packed_gross}
        )  # fmt: skip

    def twins(self, first: int, second: int, *, pairs: int, end_pairs: int = 0, joined_gross: int | None) -> None:
        """One row of twins, of two shapes."""
        one, other = (self.tables["site_sizes"][shape] for shape in (first, second))
        apart = sum(each["usable_bytes"] + each["header_bytes"] for each in (one, other))
        self.tables["twins"].append(
            {"first_size_id": first, "first_stack_id": one["stack_id"], "second_size_id": second,
             "second_stack_id": other["stack_id"], "pairs": pairs, "end_pairs": end_pairs, "apart_gross_bytes": apart,
             "joined_bytes": one["requested_bytes"] + other["requested_bytes"], "joined_gross_bytes": joined_gross}
        )  # fmt: skip

    def type_site(self, shape: int, type_name: str, size: int, reordered: int, *, saved: int, **columns: Any) -> None:
        """One row of type_sites: of one object a block, and sure."""
        told = {
            "file": "/src/types.h",
            "line": 3,
            "objects": 1,
            "field_order": "a, b",
            "certainty": "high",
            "found_by": "x",
        }
        self.tables["type_sites"].append(
            {"size_id": shape, "stack_id": self.tables["site_sizes"][shape]["stack_id"], "type": type_name,
             "size_bytes": size, "reordered_bytes": reordered, "saved_bytes": saved, **told, **columns}
        )  # fmt: skip

    def chain(self, stack: int, **columns: Any) -> None:
        zero = {c.name: 0 for c in schema.BY_NAME["growth"].columns}
        self.tables["growth"].append({**zero, "stack_id": stack, "kind": "realloc", **columns})

    def with_contents(self) -> Handmade:
        """As if recorded with --content: lenses that need it run."""
        self._process["contents_recorded"] = 1
        return self

    def recording(self) -> Recording:
        return Recording(self)

    # -- what a source does

    def load(self, table: schema.Table, into: TableStore) -> None:
        rows = {
            "process": self._process_rows,
            "sites": self._sites,
            "stack_sites": self._stack_sites,
            "snapshot_sizes": self._snapshot_sizes,
        }.get(table.name, lambda: self.tables[table.name])()
        defaults = {c.name: 0.0 if c.type == schema.REAL else None for c in table.columns}
        into.fill(table, [[{**defaults, **row}[c.name] for c in table.columns] for row in rows])

    def count(self, name: str) -> int:
        return len(self.tables[name])

    def process(self) -> dict[str, Any]:
        return self._process_rows()[0]

    def _process_rows(self) -> list[dict[str, Any]]:
        row: dict[str, Any] = {c.name: 0 for c in schema.BY_NAME["process"].columns} | PROCESS
        sizes = self.tables["site_sizes"]
        for moment in ("peak", "end", "total"):
            counts = [(s, s[f"{moment}_blocks"]) for s in sizes]
            row[f"{moment}_blocks"] = sum(n for _, n in counts)
            row[f"{moment}_requested_bytes"] = sum(n * s["requested_bytes"] for s, n in counts)
            row[f"{moment}_usable_bytes"] = sum(n * s["usable_bytes"] for s, n in counts)
            row[f"{moment}_gross_bytes"] = sum(n * (s["usable_bytes"] + s["header_bytes"]) for s, n in counts)
        row["events"] = row["alloc_events"] = row["total_blocks"]
        row |= {f"at_{name}": None for name in ("blocks", "requested_bytes", "usable_bytes", "gross_bytes")}
        return [row | self._process]

    def _snapshot_sizes(self) -> list[dict[str, Any]]:
        """A row a block, which adds up to what the core's fewer rows do."""
        blocks = self.tables["snapshot_blocks"]
        stack_at = {(block["snapshot"], block["address"]): block["stack_id"] for block in blocks}
        content_of = [
            (block["snapshot"], block["requested_bytes"], block["digest"])
            if block.get("digest") is not None
            and block["requested_bytes"]
            and block["content_class"] != "zeros"
            and not (block["start_pointers"] or block["interior_pointers"])
            else None
            for block in blocks
        ]
        copies = Counter(content for content in content_of if content)
        rows = []
        for block, content in zip(blocks, content_of, strict=True):
            mark, root = block.get("high_water_bytes"), block["leak_root"]
            has_copy = content is not None and copies[content] > 1
            rows.append(
                {
                    **block,
                    "leak_stack_id": stack_at.get((block["snapshot"], root)),
                    "blocks": block["weight"],
                    "leak_roots": float(root == block["address"]),
                    "copies": float(has_copy),
                    "contents": 1 / copies[content] if has_copy else 0.0,
                    "written_blocks": block["weight"] if mark else 0.0,
                    "unwritten_bytes": block["weight"] * (block["requested_bytes"] - mark) if mark else 0.0,
                }
            )
        return rows

    def _cut(self, stack_id: int) -> tuple[int, ...]:
        return tuple(self.stack_rows(stack_id, self.depth))

    def _stack_sites(self) -> list[dict[str, Any]]:
        cuts: dict[tuple[int, ...], int] = {}
        return [
            {"stack_id": s["stack_id"], "site_id": cuts.setdefault(self._cut(s["stack_id"]), len(cuts))}
            for s in self.tables["stacks"]
        ]

    def _sites(self) -> list[dict[str, Any]]:
        sites: dict[int, dict[str, Any]] = {}
        for pair in self._stack_sites():
            rows = self._cut(pair["stack_id"])
            sites.setdefault(pair["site_id"], {**pair, "site_location_id": rows[0] if rows else 0})
        return list(sites.values())

    def stack_rows(self, stack_id: int, depth: int) -> list[int]:
        rows: list[int] = []
        while stack_id and len(rows) < depth:
            node = self.tables["stacks"][stack_id]
            rows.append(node["location_id"])
            stack_id = node["caller_id"]
        return rows

    def rows_of_stacks(self, stack_ids: Sequence[int]) -> list[int]:
        return sorted({row for stack_id in stack_ids for row in self._whole(stack_id)})

    def stack_sums(self, live: str, with_lifetimes: bool) -> dict[str, bytes] | None:
        return None

    def sample_sums(
        self, live: str, with_threads: bool, by_size: bool, tare: tuple[bytes, bytes, bytes]
    ) -> dict[str, bytes] | None:
        return None

    def stack_texts(self, outermost_first: bool, separator: bytes) -> Texts:
        return Texts(self._whole, outermost_first, separator)

    def frame_tree(self, outermost_first: bool) -> Tree:
        return Tree(self._whole, outermost_first)

    def _whole(self, stack_id: int) -> list[int]:
        return self.stack_rows(stack_id, len(self.tables["stacks"]))

    def nameless_modules(self) -> list[tuple[str, str]]:
        return self.nameless

    def line_callers(self, rows: Sequence[int]) -> list[tuple[int, int | None, float, float]]:
        stacks = self.tables["stacks"]
        sums: dict[tuple[int, int | None], tuple[float, float]] = {}
        for size in self.tables["site_sizes"]:
            node = stacks[size["stack_id"]]
            if node["location_id"] not in rows:
                continue
            key = node["location_id"], stacks[node["caller_id"]]["location_id"] if node["caller_id"] else None
            peak, total = sums.get(key, (0.0, 0.0))
            gross = (size["usable_bytes"] + size["header_bytes"]) * size["peak_blocks"]
            sums[key] = peak + gross, total + size["total_blocks"]
        return [(*key, *amounts) for key, amounts in sums.items()]

    def by_line(self) -> Handmade:
        return self

    def in_bands(self) -> Handmade:
        return self

    def frames(self, location_ids: Sequence[int]) -> list[FrameRow]:
        frames: list[FrameRow] = []
        for row in location_ids:
            name, _, place = self._functions[row].partition("@")
            file, _, line = place.partition(":")
            known = "" if name.startswith("?") else name
            frames.append(
                (
                    row,
                    0,
                    known,
                    known,
                    file,
                    int(line) if line else None,
                    "/bin/app",
                    16 * row,
                    known in ("malloc", "operator new"),
                )
            )
        return frames
