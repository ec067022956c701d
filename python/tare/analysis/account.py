"""The account of a process: its peak RSS, and the parts of it that are known.

A snapshot divides the resident memory by the kernel's figures. So does a reading, which the launcher takes near the peak
without stopping the program: which pages of large blocks the program has touched isn't known then. Without both only the
heap's size is known: an upper bound of its resident bytes.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.analysis.recording import Recording

# Below this share of blocks the account names a way to see more; a snapshot with a smaller share of the peak RSS isn't used.
ENOUGH_SEEN = 0.8
# A snapshot counts the blocks' touched pages. So it is preferred to a reading that is nearer to the peak by less than this.
_ABOUT_AS_NEAR = 0.97
# Smaller blocks have no page of their own: the program has touched all of theirs, or nearly.
_BLOCK_WITH_PAGES = 8192


class Source(Enum):
    """The source of the parts."""

    SNAPSHOT = "snapshot"
    READING = "reading"
    BLOCKS = "blocks"  # neither has as much as the blocks at the peak


class Part(NamedTuple):
    name: str
    bytes: int
    least_bytes: int
    most_bytes: int

    @property
    def is_exact(self) -> bool:
        return self.least_bytes == self.most_bytes


class Pools(NamedTuple):
    """Memory of pools that the program registers or a description names, when the heap had its peak."""

    used_bytes: int  # of their blocks
    free_bytes: int  # the rest: free, headers of blocks, remainders of pieces

    @property
    def held_bytes(self) -> int:
        return self.used_bytes + self.free_bytes


class Account(NamedTuple):
    peak_rss_bytes: int  # the program's: without the recorder's memory
    recorder_bytes: int  # already subtracted
    parts: list[Part]  # largest first
    source: Source
    huge_page_bytes: int | None = None  # of all parts: on huge pages; None: unknown
    page_table_bytes: int | None = None  # beside the RSS; None: unknown
    pools: Pools | None = None  # None: the program has none
    is_earlier: bool = False  # the peak came before the recording of a running process; the parts are of the recording

    @property
    def unexplained_bytes(self) -> int:
        """Peak RSS minus all parts."""
        return self.peak_rss_bytes - _sum(self.parts)

    @property
    def mapped_bytes(self) -> int:
        """Of the program's own mappings."""
        return sum(part.bytes for part in self.parts if part.name == _LABELS["mapping"])

    @property
    def blocks_share(self) -> float:
        """The share of live blocks and pools in the peak RSS; 1 where the bound exceeds it."""
        blocks = sum(part.bytes for part in self.parts if part.name in ("blocks", FREE_IN_POOLS))
        return min(1.0, blocks / self.peak_rss_bytes) if self.peak_rss_bytes else 1.0


def program_rss_bytes(process: Mapping[str, Any]) -> int:
    """The program's peak RSS without the recorder's memory; 0: unknown."""
    whole: int = process["peak_rss_bytes"] or 0
    if _is_earlier(process):
        return whole
    return whole - min(max(process["spool_bytes"] or 0, process["rss_recorder_bytes"] or 0), whole)


def _is_earlier(process: Mapping[str, Any]) -> bool:
    """Whether the peak RSS came before the recording, and thus before the recorder's memory."""
    earlier = process["earlier_peak_rss_bytes"]
    return bool(earlier) and earlier >= (process["peak_rss_bytes"] or 0)


def rss_readings(recording: Recording) -> list[tuple[int, int]]:
    """Times and the program's RSS then, without the recorder's: of snapshots and of the launcher's reading."""
    recording.database.use("snapshots", "resident")
    found = [
        (int(time_ns), int(size))
        for time_ns, size in recording.database.rows(
            "select time_ns, sum(resident_bytes) from snapshots join resident using (snapshot)"
            " where resident.kind <> 'recorder' and time_ns is not null group by snapshot, time_ns"
        )
    ]
    read = _reading_bytes(recording)
    if read and recording.process["rss_read_ns"] is not None:
        found.append((int(recording.process["rss_read_ns"]), read))
    return sorted(found)


def account(recording: Recording) -> Account | None:
    """None where the peak RSS is unknown: the process was killed, or is still running."""
    process = recording.process
    whole = process["peak_rss_bytes"]
    if not whole:
        return None
    read = _reading_bytes(recording)
    peak_rss = program_rss_bytes(process)
    recorder = whole - peak_rss
    parts = _from_snapshot(recording) if process["snapshots"] else []
    if _sum(parts) >= max(ENOUGH_SEEN * peak_rss, _ABOUT_AS_NEAR * min(read, peak_rss)):
        source = Source.SNAPSHOT
    else:
        parts = _from_reading(recording, peak_rss) if read else []
        source = Source.READING
        gross = min(round(recording.moments["peak"].gross_bytes), peak_rss)
        if _sum(parts) < min(ENOUGH_SEEN * peak_rss, gross):
            parts, source = [Part("blocks", gross, 0, gross)], Source.BLOCKS
    pools = pools_at_peak(recording)
    if pools is not None:
        parts = _with_pools(parts, pools)
    parts.sort(key=lambda part: -part.bytes)
    # The kernel notes the greatest RSS from time to time: smaps may list a little more.
    peak_rss = max(peak_rss, _sum(parts))
    pages = (process["huge_page_bytes"], process["page_table_bytes"])
    return Account(peak_rss, recorder, parts, source, *pages, pools, _is_earlier(process))


def pools_at_peak(recording: Recording) -> Pools | None:
    """The blocks of malloc that contain a pool's memory have only the bytes that their pools didn't get."""
    recording.database.use("site_sizes")
    (rows, used, free) = recording.database.row(
        "select count(*), coalesce(sum(case when api = 'pool block' then usable_bytes * peak_blocks end), 0),"
        " coalesce(sum(case when api = 'pool memory' then usable_bytes * peak_blocks end), 0)"
        " from site_sizes where api in ('pool block', 'pool memory')"
    )
    return Pools(round(used), round(free)) if rows else None


def _with_pools(parts: list[Part], pools: Pools) -> list[Part]:
    """Splits the blocks. The program may have touched nothing of the pools' free memory."""
    divided = []
    for part in parts:
        if part.name != "blocks":
            divided.append(part)
            continue
        free = min(pools.free_bytes, part.bytes)
        divided.append(Part(part.name, part.bytes - free, max(0, part.least_bytes - free), part.most_bytes))
        divided.append(Part(FREE_IN_POOLS, free, 0, free))
    return divided


def _sum(parts: list[Part]) -> int:
    return sum(part.bytes for part in parts)


def _exact(name: str, size: int) -> Part:
    return Part(name, size, size, size)


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
    parts = [_exact("blocks", min(blocks, by_kind.get("heap", 0))), _exact(_rest_of_heap(recording), heap.kept_bytes)]
    parts += [_exact(label, by_kind[kind]) for kind, label in _LABELS.items() if by_kind.get(kind)]
    return parts


# Mappings without a file that the kernel lists by such names: anonymous shared ones, memfds, System V and POSIX segments.
_SHARED = ("/dev/zero", "/memfd:", "/SYSV", "/dev/shm/")

FREE = "free in the allocator"
FREE_IN_POOLS = "free in pools"
OLDER = "older blocks and free memory"  # blocks that were allocated before the recording began are unknown


def _rest_of_heap(recording: Recording) -> str:
    return FREE if recording.process["paused_ns"] is None else OLDER


_LABELS = {"mapping": "own mappings", "shared": "shared memory", "file": "files", "stack": "stacks", "other": "other"}


def _reading_bytes(recording: Recording) -> int:
    """The program's resident bytes at the launcher's reading; 0: there was none."""
    return sum(int(recording.process[f"rss_{kind}_bytes"] or 0) for kind in ("heap", *_LABELS))


def _from_reading(recording: Recording, peak_rss: int) -> list[Part]:
    process = recording.process
    heap, gross, spread = (process[f"rss_{name}_bytes"] for name in ("heap", "gross", "mapping_spread"))
    least = max(0, min(gross, heap - spread) - _large_block_bytes(recording))
    gross = max(gross, _gross_before(recording, heap))
    grown = min(
        max(0, peak_rss - _reading_bytes(recording)), max(0, round(recording.moments["peak"].gross_bytes) - gross)
    )
    blocks = min(gross, heap)
    parts = [Part("blocks", blocks + grown, least, min(gross, heap + spread) + grown)]
    parts.append(Part(_rest_of_heap(recording), heap - blocks, max(0, heap - spread - gross), heap + spread - least))
    mapped = min(max(0, peak_rss - _reading_bytes(recording) - grown), _mapped_beside_reading(recording))
    for kind, label in _LABELS.items():
        size = process[f"rss_{kind}_bytes"] or 0
        margin, more = (spread, mapped) if kind == "mapping" else (0, 0)
        if size or more:
            parts.append(Part(label, size + more, max(0, size - margin), size + margin + more))
    return parts


def _mapped_beside_reading(recording: Recording) -> int:
    """By how much the program's own mappings were larger at most, before the reading or after it; it may have touched nothing of that.

    A busy machine's launcher may find the program only after it has unmapped most of its memory.
    """
    read_ns = recording.process["rss_read_ns"]
    if read_ns is None:
        return 0
    recording.database.use("timeline")
    (at_reading, most) = recording.database.row(
        f"select (select mapped_bytes from timeline where time_ns <= {read_ns} order by time_ns desc limit 1),"
        " (select max(mapped_bytes) from timeline)"
    )
    return max(0, int(most or 0) - int(at_reading or 0))


def _gross_before(recording: Recording, heap: int) -> int:
    """Gross at the heap's peak, if the reading came after it and found as much resident: blocks were freed in between, not pages."""
    process = recording.process
    gross = round(recording.moments["peak"].gross_bytes)
    return gross if process["peak_time_ns"] < process["rss_read_ns"] and gross <= heap else 0


def _large_block_bytes(recording: Recording) -> int:
    """Of blocks with pages of their own, live at the peak: the program may have touched none of them."""
    recording.database.use("site_sizes")
    (size,) = recording.database.row(
        f"select coalesce(sum(usable_bytes * peak_blocks), 0) from site_sizes where usable_bytes >= {_BLOCK_WITH_PAGES}"
    )
    return int(size)


def _maps_memory(found: Account) -> bool:
    """Whether the program may have an allocator of its own on mappings. Without a reading, nothing contradicts it."""
    return found.source is Source.BLOCKS or found.mapped_bytes >= _MUCH_UNEXPLAINED * found.peak_rss_bytes


# Programs with an allocator of their own above malloc: a switch that makes them use malloc for every object.
_SWITCH_IS_SET = 0.5
_MUCH_UNEXPLAINED = 0.2
_SWITCHES = {"python": "PYTHONMALLOC=malloc", "php": "USE_ZEND_ALLOC=0"}


def way_to_see_more(recording: Recording, found: Account) -> str:
    """A command that makes most of the memory visible; empty where blocks are most of it already."""
    if found.blocks_share >= ENOUGH_SEEN:
        return ""
    program = str(recording.process["program"])
    if recording.process["earlier_peak_rss_bytes"] is not None and recording.process["python"]:
        return f"after an attach, older blocks of pymalloc are unknown; tare run -- {program} ... records all of them"
    for start, switch in _SWITCHES.items():
        # With the switch set blocks are most of the memory, or the program maps memory itself: other advice fits.
        if program.startswith(start) and found.blocks_share < _SWITCH_IS_SET and _maps_memory(found):
            return f"{switch} makes {program} allocate its objects by malloc, so that a recording has all of them"
    if found.is_earlier:
        return "the peak RSS came before the recording; the parts are those of the recording"
    if found.source is Source.READING and found.unexplained_bytes > _MUCH_UNEXPLAINED * found.peak_rss_bytes:
        return "the peak RSS came after the last reading of its parts; the snapshot at the exit (--snapshots) may be nearer to it"
    if found.source is not Source.BLOCKS:
        return ""
    if recording.process["snapshots"]:
        return "no snapshot was taken near the peak RSS; `tare snapshot` takes one on request"
    if recording.sampled:
        return "the process ended before its resident memory was read; a recording without --sample divides the rest by owner"
    return "a recording with --snapshots divides the rest into mappings, files, stacks and free memory"
