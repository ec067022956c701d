"""Blocks of sites as histograms: sizes and lifetimes; and a line's heaviest stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_MOST_BARS = 8
_WHOLE_STACK = 8192  # frames: more than any recorded stack has
# Columns of site_sizes: allocations that happened in the process between the allocation of a block and its free.
LIFETIMES = (
    ("within 16 allocations", "freed_within_16"),
    ("16 to 63", "freed_within_64"),
    ("64 to 255", "freed_within_256"),
    ("256 to 65,535", "freed_within_65536"),
    ("later", "freed_later"),
    ("never", "end_blocks"),
)

Bars = list[tuple[str, float]]  # label and blocks


class Histograms(NamedTuple):
    sizes: Bars  # usable bytes of all allocations
    lifetimes: Bars  # when they were freed


def of_sites(recording: Recording, site_ids: Sequence[int]) -> dict[int, Histograms]:
    return _histograms(recording, "x.site_id", f"x.site_id in ({','.join(map(str, site_ids))})") if site_ids else {}


def of_lines(recording: Recording, rows: Iterable[int | None]) -> dict[int, Histograms]:
    """By line, of all sites that it names."""
    listed = ",".join(str(row) for row in sorted({row for row in rows if row is not None}))
    return _histograms(recording, "t.site_location_id", f"t.site_location_id in ({listed})") if listed else {}


def of_line(recording: Recording, row: int | None) -> tuple[Histograms, list[Frame]]:
    """Of all sites that a line names, with the whole stack, innermost first, that had most bytes at the peak."""
    of = "t.site_location_id is null" if row is None else f"t.site_location_id = {row}"
    found = _histograms(recording, "0", of).get(0, Histograms([], []))
    heaviest = recording.database.rows(
        f"select z.stack_id {_SITES} where {of} group by z.stack_id"
        " order by sum((usable_bytes + header_bytes) * peak_blocks) desc, sum(total_blocks) desc, z.stack_id limit 1"
    )
    return found, recording.names.stack(heaviest[0][0], _WHOLE_STACK) if heaviest else []


_SITES = "from site_sizes z join stack_sites x on x.stack_id = z.stack_id join sites t on t.site_id = x.site_id"


def _histograms(recording: Recording, key: str, condition: str) -> dict[int, Histograms]:
    database = recording.database
    database.use("site_sizes", "stack_sites", "sites")
    sizes: dict[int, list[tuple[int, float]]] = {}
    for site_id, size, count in database.rows(
        f"select {key} as site, usable_bytes, sum(total_blocks) {_SITES} where {condition} group by site, usable_bytes order by site, usable_bytes"
    ):
        sizes.setdefault(site_id, []).append((size, count))
    counted = ", ".join(f"coalesce(sum({column}), 0)" for _, column in LIFETIMES)
    labels = [label for label, _ in LIFETIMES]
    return {
        site_id: Histograms(in_powers(sizes[site_id]), list(zip(labels, counts, strict=True)))
        for site_id, *counts in database.rows(
            f"select {key} as site, {counted} {_SITES} where {condition} group by site"
        )
    }


def in_powers(sizes: list[tuple[int, float]]) -> Bars:
    """Few sizes as they are, many by powers of two, and very many by larger steps."""
    if len(sizes) <= _MOST_BARS:
        return [(f"{size:,} B", count) for size, count in sizes]
    for step in (1, 2, 4):
        found: dict[int, float] = {}
        for size, count in sizes:
            power = -(-max(size - 1, 0).bit_length() // step) * step
            found[power] = found.get(power, 0.0) + count
        if len(found) <= _MOST_BARS:
            break
    return [(f"to {_power(power)}", count) for power, count in sorted(found.items())]


def _power(power: int) -> str:
    for step, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if power >= step:
            return f"{1 << power - step:,} {unit}"
    return f"{1 << power} B"
