"""What DHAT's points have of accesses to their blocks: of recordings with contents, which bytes were never written.

`acc` has a number for each byte of a block: blocks in which the byte was written at least once. Reads aren't recorded, so that `rb` is 0. Marks
up to which blocks were written are known in ranges (table `written`), and count as the upper end of theirs: what has 0 was never written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

_LARGEST = 1024  # DHAT's own limit for blocks with a number for each byte
_RANGES = (0, 16, 32, 48, 64, 128, 256, 512, 1024)


class Accesses:
    def __init__(self, recording: Recording) -> None:
        self.known = bool(recording.process["contents_recorded"])
        self._stacks: dict[int, tuple[int, list[int] | None]] = {}  # written bytes; runs of acc
        self._points: dict[int, tuple[int, list[int] | None]] = {}
        if not self.known:
            return
        recording.database.use("site_sizes", "written")
        ranges = ", ".join(f"sum(coalesce(w.within_{limit}, 0))" for limit in _RANGES)
        for stack_id, written, smallest, largest, mark, ended, partly, *marks in recording.database.rows(
            f"""
            select z.stack_id, sum(z.requested_bytes * (z.total_blocks - z.end_blocks)) - sum(coalesce(w.unwritten_total_bytes, 0)),
                   min(z.requested_bytes), max(z.requested_bytes), max(coalesce(w.max_high_water_bytes, z.requested_bytes)),
                   sum(z.total_blocks - z.end_blocks), sum(coalesce(w.partly_blocks, 0)), {ranges}
            from site_sizes z left join written w on w.size_id = z.size_id
            where z.inherited = 0 group by z.stack_id
            """
        ):
            same = smallest == largest and 0 < largest <= _LARGEST and ended
            runs = (
                _runs(int(largest), int(mark), round(ended - partly), [round(each) for each in marks]) if same else None
            )
            self._stacks[stack_id] = (max(0, round(written)), runs)

    def add(self, point: int, stack_id: int) -> None:
        """A stack more at a point. Blocks of several sizes have no `acc`."""
        if stack_id not in self._stacks:
            return
        written, runs = self._stacks[stack_id]
        if point in self._points:
            written, runs = written + self._points[point][0], None
        self._points[point] = (written, runs)

    def of(self, point: int) -> bytes:
        """Further fields of a point, as JSON."""
        if not self.known:
            return b""
        written, runs = self._points.get(point, (0, None))
        return b',"rb":0,"wb":%d' % written + (b',"acc":[%b]' % ",".join(map(str, runs)).encode() if runs else b"")


def _runs(size: int, mark: int, whole: int, marks: list[int]) -> list[int]:
    """As DHAT packs them: -length, number."""
    runs: list[int] = []
    begin = 0
    for number, limit in enumerate(_RANGES):
        end = min(limit, size, mark)
        if end > begin:
            # Up to here all blocks were written whose mark is in this range or a later one.
            runs += [-(end - begin), whole + sum(marks[number:])]
            begin = end
    if size > begin:
        runs += [-(size - begin), whole if mark > begin else 0]
    return runs
