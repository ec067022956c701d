"""The effect of a remedy on calls: rules for shapes of blocks, by which the core rewrites the calls."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tare._core import ScriptRule


class Remedy(IntEnum):
    """Numbers and meanings as in src/allocator_replay/script/rewrite_rules.h."""

    RESIZE = 1
    REUSE = 2
    SLABS = 3
    GROW = 4
    TRIM = 5
    SHARE = 6
    FIRST = 7
    SECOND = 8
    FREE_AT_ONCE = 9
    FREE_AT = 10


class Rule(NamedTuple):
    """Of one shape; the remedy defines the meaning of the numbers."""

    size_id: int
    remedy: Remedy
    bytes: int = 0
    more: int = 0
    share: float = 0.0

    def in_group(self, group: int) -> ScriptRule:
        """In the core's form. Blocks of a group are remedied together."""
        return (self.size_id, self.remedy.value, group, self.bytes, self.more, self.share)


class Simulation(NamedTuple):
    """A remedy as rules, and the assumption that makes it calls."""

    rules: tuple[Rule, ...]
    assumption: str


class Unsimulated(NamedTuple):
    """A remedy that isn't a change of calls, or whose change the recording doesn't determine."""

    reason: str
