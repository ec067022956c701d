"""The account of a process: its peak RSS, and the parts of it that are known.

With a snapshot the kernel's figures divide the resident memory. Without one only the heap's size is known: an upper bound
of its resident bytes, because pages that the program never touched aren't resident.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

# Below this share of blocks the account names a way to see more; a snapshot with a smaller share of the peak RSS isn't used.
ENOUGH_SEEN = 0.8


class Snapshot(Enum):
    """Whether the parts come from a snapshot."""

    USED = "used"
    TOO_FAR = "too far"  # there are snapshots, but none has most of the peak RSS
    NONE = "none"


class Part(NamedTuple):
    name: str
    bytes: int
    is_exact: bool  # False: at most so many


class Account(NamedTuple):
    peak_rss_bytes: int  # the program's: without the recorder's spool
    recorder_bytes: int  # resident bytes of the spool, already subtracted
    parts: list[Part]  # largest first
    snapshot: Snapshot

    @property
    def unexplained_bytes(self) -> int:
        """Peak RSS minus all parts; negative never: a bound that is too high explains everything."""
        return max(0, self.peak_rss_bytes - sum(part.bytes for part in self.parts))

    @property
    def blocks_share(self) -> float:
        """The share of live blocks in the peak RSS; 1 where the bound exceeds it."""
        blocks = sum(part.bytes for part in self.parts if part.name == "blocks")
        return min(1.0, blocks / self.peak_rss_bytes) if self.peak_rss_bytes else 1.0


def account(recording: Recording) -> Account | None:
    """None where the peak RSS is unknown: the process was killed, or is still running."""
    process = recording.process
    whole = process["peak_rss_bytes"]
    if not whole:
        return None
    spool = min(process["spool_bytes"] or 0, whole)
    peak_rss = whole - spool
    parts = _from_snapshot(recording) if process["moments"] else []
    if sum(part.bytes for part in parts) < ENOUGH_SEEN * peak_rss:
        gross = round(recording.moments["peak"].gross_bytes)
        kind = Snapshot.TOO_FAR if parts else Snapshot.NONE
        return Account(peak_rss, spool, [Part("blocks", min(gross, peak_rss), False)], kind)
    parts.sort(key=lambda part: -part.bytes)
    return Account(peak_rss, spool, parts, Snapshot.USED)


def _from_snapshot(recording: Recording) -> list[Part]:
    """Of the snapshot with the most resident memory; empty where no snapshot has such figures."""
    from tare.analysis.resident import fullest

    seen = fullest(recording)
    if seen is None:
        return []
    heap = seen.heap
    by_kind: dict[str, int] = {}
    for part in seen.parts:
        kind = "shared" if part.kind == "file" and part.name.startswith(_SHARED) else part.kind
        by_kind[kind] = by_kind.get(kind, 0) + part.resident_bytes
    blocks = max(0, heap.requested_bytes + heap.slop_bytes + heap.header_bytes - heap.absent_bytes)
    parts = [
        Part("blocks", min(blocks, by_kind.get("heap", 0)), True),
        Part("free in the allocator", heap.kept_bytes, True),
    ]
    words = {"mapping": "own mappings", "shared": "shared memory", "file": "files", "stack": "stacks", "other": "other"}
    parts += [Part(label, by_kind[kind], True) for kind, label in words.items() if by_kind.get(kind)]
    return parts


# Mappings without a file that the kernel lists by such names: anonymous shared ones, memfds, System V and POSIX segments.
_SHARED = ("/dev/zero", "/memfd:", "/SYSV", "/dev/shm/")

# Programs with an allocator of their own above malloc: a switch that makes them use malloc for every object.
_SWITCH_IS_SET = 0.5
_SWITCHES = {"python": "PYTHONMALLOC=malloc", "php": "USE_ZEND_ALLOC=0"}


def way_to_see_more(recording: Recording, found: Account) -> str:
    """A command that makes most of the memory visible; empty where blocks are most of it already."""
    if found.blocks_share >= ENOUGH_SEEN:
        return ""
    program = str(recording.process["program"])
    for start, switch in _SWITCHES.items():
        # With the switch set blocks are most of the memory, or the program maps memory itself: other advice fits.
        if program.startswith(start) and found.blocks_share < _SWITCH_IS_SET:
            return f"{switch} makes {program} allocate its objects by malloc, so that a recording has all of them"
    if found.snapshot is Snapshot.TOO_FAR:
        return "no snapshot was taken near the peak RSS; `tare snapshot` takes one on request"
    if found.snapshot is Snapshot.NONE:
        return "a recording with --snapshots divides the rest into mappings, files, stacks and free memory"
    return ""
