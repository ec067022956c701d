"""Lines of source with the amounts of each in the margin. Sources may be secret: a page has them only by `--sources`."""

from __future__ import annotations

import os
import stat
from array import array
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tare.html.markup import EMPTY, Markup, element, headings
from tare.html.sums import rounded
from tare.naming.own_code import is_own, is_system_file
from tare.text.units import exact, human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame

_LEAST_SHARE = 0.005  # of gross at the peak, or of all allocations
_AROUND = 3  # lines before and after
_MOST_LINES = 400
_MOST_FILES = 20
_MOST_COLUMNS = 160
_MOST_FILE_BYTES = 8 << 20
_HEATS = 4

Place = tuple[str, int]  # file and line


class Amounts:
    """Of each line: what it allocates itself, and what stacks through it have; all at the peak, but for allocations."""

    def __init__(self, recording: Recording) -> None:
        self.gross: Counter[Place] = Counter()
        self.tare: Counter[Place] = Counter()
        self.allocations: Counter[Place] = Counter()
        self.with_callees: Counter[Place] = Counter()
        self.own: set[str] = set()  # files
        self._walk(recording)
        self._add_sites(recording)

    def _walk(self, recording: Recording) -> None:
        database, source, names = recording.database, recording.source, recording.names
        database.use("site_sizes")
        rows = database.rows(
            "select stack_id, sum((usable_bytes + header_bytes) * peak_blocks) from site_sizes group by stack_id order by stack_id"
        )
        stacks = [row[0] for row in rows]
        tree = source.frame_tree(True)
        places: dict[Place, int] = {}
        executable = recording.process["exe"]

        def number(frame: Frame) -> int:
            place = (frame.file, frame.line or 0)
            if (
                place not in places
                and is_own(executable, frame.module, frame.file, frame.name)
                and not is_system_file(frame.file)
            ):
                self.own.add(frame.file)
            return places.setdefault(place, len(places))

        located = source.rows_of_stacks(stacks)
        names.prepare(located)
        for row in located:
            every = [number(frame) for frame in names.frames(row)]
            tree.name(row, every, every[len(every) - len(names.callers(row)) :])
        tree.add(stacks, [value for _, value in rounded(rows)])
        parents, frames = array("I", tree.parents()), array("I", tree.frames())
        whole, order = array("q", tree.whole_amounts()), array("I", tree.depth_first())
        self._add_callees(parents, frames, whole, order, list(places))

    def _add_sites(self, recording: Recording) -> None:
        """Of the lines that name sites."""
        database, names = recording.database, recording.names
        database.use("site_sizes", "stack_sites", "sites")
        grants = (
            recording.ledger.grants() if recording.has_tare else "select 0 as size_id, 0.0 as bytes_peak where false"
        )
        rows = database.rows(
            f"select s.site_location_id, sum((usable_bytes + header_bytes) * peak_blocks), coalesce(sum(tare), 0), sum(total_blocks)"
            f" from site_sizes z left join (select size_id, sum(bytes_peak) as tare from ({grants}) group by size_id) g on g.size_id = z.size_id"
            " join stack_sites x on x.stack_id = z.stack_id join sites s on s.site_id = x.site_id group by 1 order by 1"
        )
        names.prepare(row[0] for row in rows if row[0] is not None)
        for column, counter in enumerate((self.gross, self.tare, self.allocations), start=1):
            for location_id, value in rounded((row[0], row[column]) for row in rows):
                frame = names.at(location_id)
                counter[frame.file, frame.line or 0] += value

    def _add_callees(
        self,
        parents: Sequence[int],
        frames: Sequence[int],
        whole: Sequence[int],
        order: Sequence[int],
        known: Sequence[Place],
    ) -> None:
        """A line that is in a stack twice counts once: only calls that aren't below another one."""
        sums, active, path = [0] * len(known), [0] * len(known), [0]
        for node in order[1:]:
            while path[-1] != parents[node]:
                active[frames[path.pop()]] -= 1
            frame = frames[node]
            if not active[frame]:
                sums[frame] += whole[node]
            active[frame] += 1
            path.append(node)
        self.with_callees.update(dict(zip(known, sums, strict=True)))


class _File(NamedTuple):
    path: str
    number: int
    lines: list[str]
    shown: list[int]  # of the lines, ascending
    is_newer: bool  # than the recording


class SourceLines:
    def __init__(self, recording: Recording, places: Iterable[Frame]) -> None:
        """`places`: lines that the page speaks of."""
        self.amounts = Amounts(recording)
        self._gross = sum(self.amounts.gross.values())
        self._places = {(frame.file, frame.line) for frame in places if frame.file and frame.line}
        self._files: dict[str, _File] = {}
        self._unread: list[str] = []
        self._more = 0
        self._choose(recording.process["start_realtime_ns"] or 0)

    def _choose(self, begun_ns: int) -> None:
        """The lines with most, in files that can be read."""
        amounts = self.amounts
        calls = sum(amounts.allocations.values())
        wanted: dict[str, list[int]] = {}
        for place, value in amounts.with_callees.most_common():
            file, line = place
            is_large = value >= _LEAST_SHARE * self._gross or amounts.allocations[place] >= _LEAST_SHARE * calls
            if line and (
                (is_large and (value or amounts.allocations[place]) and file in amounts.own) or place in self._places
            ):
                wanted.setdefault(file, []).append(line)
        room = _MOST_LINES
        order = sorted(wanted, key=lambda file: -sum(amounts.gross[file, line] for line in wanted[file]))
        for file in order:
            lines = _read(file)
            if lines is None:
                self._unread.append(file)
                continue
            shown: set[int] = set()
            for line in wanted[file]:
                if line > len(lines) or len(self._files) >= _MOST_FILES or room <= 0:
                    self._more += 1
                    continue
                around = set(range(max(1, line - _AROUND), min(len(lines), line + _AROUND) + 1)) - shown
                shown |= around
                room -= len(around)
            if shown:
                newer = bool(begun_ns) and os.stat(file).st_mtime_ns > begun_ns
                self._files[file] = _File(file, len(self._files), lines, sorted(shown), newer)

    def link(self, frame: Frame) -> Markup | None:
        """To the frame's line where it is on the page."""
        file = self._files.get(frame.file)
        if not file or frame.line not in file.shown:
            return None
        return element("a", frame.place, href=f"#L{file.number}-{frame.line}")

    def section(self) -> Markup:
        notes = []
        if self._more:
            notes.append(
                f"{plural(self._more, 'more line')} with at least {_LEAST_SHARE:.1%} of gross or of all allocations."
            )
        if self._unread:
            names = ", ".join(sorted({file.rpartition("/")[2] for file in self._unread})[:8])
            notes.append(
                f"{plural(len(self._unread), 'file')} can't be read here: {names}{' …' if len(self._unread) > 8 else ''}."
            )
        words = "Bytes at the peak of the line itself, their tare, and with all that it calls; and its allocations over the run."
        return element(
            "section",
            element("h2", "Source lines"),
            element("p", words, class_="note"),
            *map(self._file, self._files.values()),
            "" if self._files else element("p", "No source file of the program's own code can be read here."),
            element("p", " ".join(notes), class_="note") if notes else EMPTY,
            id="lines",
        )

    def _file(self, file: _File) -> Markup:
        own = sum(value for place, value in self.amounts.gross.items() if place[0] == file.path)
        note = "changed after the recording: lines may have moved" if file.is_newer else ""
        table = element(
            "table",
            headings("gross", "tare", "with callees", "allocations", "", ""),
            element("tbody", *self._rows(file)),
            class_="numbers source",
        )
        return element(
            "details",
            element(
                "summary", element("code", file.path), f" {human_bytes(own)} ", element("span", note, class_="place")
            ),
            element("div", table, class_="wide"),
            open="",
        )

    def _rows(self, file: _File) -> Iterator[Markup]:
        before = file.shown[0] - 1
        for line in file.shown:
            if line > before + 1:
                yield element("tr", element("td", "⋯", colspan=6, class_="gap"))
            before = line
            place = (file.path, line)
            gross = self.amounts.gross[place]
            share = gross / self._gross if self._gross else 0.0
            heat = min(_HEATS, 1 + int(4 * _HEATS * share)) if share >= _LEAST_SHARE else 0
            values = (
                gross,
                self.amounts.tare[place],
                self.amounts.with_callees[place],
                self.amounts.allocations[place],
            )
            text = file.lines[line - 1].expandtabs(4).rstrip()
            text = text if len(text) <= _MOST_COLUMNS else f"{text[: _MOST_COLUMNS - 1]}…"
            yield element(
                "tr",
                *(element("td", exact(value) if value else "") for value in values),
                element("td", line, class_="line"),
                element("td", element("code", text)),
                id=f"L{file.number}-{line}",
                class_=f"heat-{heat}" if heat else None,
            )


def _read(path: str) -> list[str] | None:
    """The lines of a text. None: no regular file, too large, no text, or not readable."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_FILE_BYTES:
            return None
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError):
        return None
    return None if b"\0" in data else data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
