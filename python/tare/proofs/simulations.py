"""How the remedy of each lens is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.proofs.remedies import Remedy, Rule, Simulation, Unsimulated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Shapes = Sequence[dict[str, Any]]  # claims of a finding joined with site_sizes

_LARGEST_CELL = 2048  # kMostCellBytes in src/allocator_replay/script/slabs.h


def _reuse(shapes: Shapes) -> Simulation | Unsimulated:
    rules = [Rule(each["shape_id"], Remedy.REUSE) for each in shapes if each["align_bytes"] == 0]
    if not rules:
        return Unsimulated("blocks with an alignment aren't reused in the simulation")
    return Simulation(
        tuple(rules),
        "each thread keeps up to 8 freed blocks of this site and reuses them for requests that fit",
    )


def _slabs(shapes: Shapes) -> Simulation | Unsimulated:
    rules = [
        Rule(each["shape_id"], Remedy.SLABS)
        for each in shapes
        if each["requested_bytes"] <= _LARGEST_CELL and each["align_bytes"] == 0
    ]
    if not rules:
        return Unsimulated(f"no block of this site has {_LARGEST_CELL:,} bytes or less without an alignment")
    return Simulation(
        tuple(rules),
        "blocks of this site lie in slabs of 32 KiB, rounded to 8 bytes; a thread has its own slabs; freed cells are reused",
    )


def _size_class_below(shapes: Shapes) -> Simulation | Unsimulated:
    rules = [
        Rule(each["shape_id"], Remedy.RESIZE, each["class_below_bytes"])
        for each in shapes
        if each["kind"] == "clownshoe" and each["class_below_bytes"]
    ]
    if rules:
        return Simulation(tuple(rules), "these requests are cut to the size class below")
    if any(each["kind"] == "pool" for each in shapes):
        return Unsimulated("the pool's requests depend on what the program does with the pool")
    return Unsimulated("no request of this site is just above a size class")


_SIMULATIONS: dict[str, Callable[[Shapes], Simulation | Unsimulated]] = {
    "churn": _reuse,
    "recreated": _reuse,
    "headers": _slabs,
    "slop": _size_class_below,
}
_NOT_CALLS = {
    "mappings": "mappings aren't requests to the allocator",
    "unshared": "the copies and their owners aren't visible in the calls",
}


def simulate(lens: str, shapes: Shapes) -> Simulation | Unsimulated:
    if lens in _NOT_CALLS:
        return Unsimulated(_NOT_CALLS[lens])
    if lens not in _SIMULATIONS:
        return Unsimulated(f"no simulation of the remedy of {lens} exists yet")
    return _SIMULATIONS[lens](shapes)
