"""What a remedy does to calls: rules for shapes of blocks, as the core rewrites them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Remedy(IntEnum):
    """Numbers as in src/allocator_replay/script/rewrite_rules.h."""

    RESIZE = 1
    REUSE = 2
    SLABS = 3


class Rule(NamedTuple):
    """Of one shape."""

    shape_id: int
    remedy: Remedy
    bytes: int = 0  # RESIZE: the request


class Simulation(NamedTuple):
    """A remedy as rules, and the assumption that makes it calls."""

    rules: tuple[Rule, ...]
    assumption: str


class Unsimulated(NamedTuple):
    """A remedy that isn't a change of calls, or whose change the recording doesn't determine."""

    reason: str
