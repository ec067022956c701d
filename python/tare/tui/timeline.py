"""The heap over time in characters: columns of requested bytes and their overhead, a cursor, and a range."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tare.explore.course import columns
from tare.text.units import duration, human_bytes, human_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.explore.course import Step

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_REQUESTED, _OVER, _BASELINE, _RSS = "█", "░", "·", "◆"
_MOST_RATIO = 3.0  # an RSS above so many times the heap isn't drawn: it would leave the heap a third of the height
_HEAD = 2  # lines above the chart
_FOOT = 2  # rate and times below it


class Timeline(Widget, can_focus=True):
    """Steps from left to right. `cursor` is a step; `begin` a step too, or None."""

    DEFAULT_CSS = "Timeline { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "cursor", key_display="← →"),
        Binding("right", "step(1)", "cursor", show=False),
        Binding("pageup,shift+left", "step(-10)", "10 steps", show=False),
        Binding("pagedown,shift+right", "step(10)", "10 steps", show=False),
        Binding("home", "step(-100000)", "begin", show=False),
        Binding("end", "step(100000)", "end", show=False),
        Binding("left_square_bracket", "begin", "range begins", key_display="["),
        Binding("right_square_bracket,enter", "choose", "choose", key_display="] ⏎"),
    ]

    class Chosen(Message):
        """A time, or a range: the numbers of intervals."""

        def __init__(self, begin: int | None, end: int) -> None:
            super().__init__()
            self.begin = begin
            self.end = end

    def __init__(self) -> None:
        super().__init__(id="time")
        self.steps: list[Step] = []
        self.baseline: list[Step] = []
        self.readings: list[tuple[int, int]] = []  # of the RSS: times and bytes
        self.cursor = 0
        self.begin: int | None = None
        self.chosen: tuple[int, int] | None = None  # what the views show: intervals, the first excluded
        self.can_choose = True
        self.more_comes = False

    def show(
        self, steps: list[Step], baseline: list[Step], peak_ns: int, *, can_choose: bool, more_comes: bool = False
    ) -> None:
        """`more_comes`: the steps that ranges are made of follow."""
        self.more_comes = more_comes
        if len(steps) != len(self.steps):
            at = [
                self.steps[number].end_ns for number in (self.cursor, self.begin) if self.steps and number is not None
            ]
            places = [
                min(range(len(steps)), key=lambda n: abs(steps[n].end_ns - ns), default=0) for ns in at or [peak_ns]
            ]
            self.cursor, self.begin = places[0], places[1] if len(places) > 1 else None
        self.steps, self.baseline, self.can_choose = steps, baseline, can_choose
        self.refresh()

    def action_step(self, by: int) -> None:
        self.cursor = max(0, min(self.cursor + by, len(self.steps) - 1))
        self.refresh()

    def action_begin(self) -> None:
        self.begin = self.cursor
        self.refresh()

    def action_choose(self) -> None:
        if not self.steps or not self.can_choose:
            reason = (
                "lives of blocks are being read" if self.more_comes else "this recording has no times of single blocks"
            )
            self.app.notify(reason, severity="warning")
            return
        first, last = self.begin, self.cursor
        if first is not None and first > last:
            first, last = last, first
        begin = None if first is None or first == last else self.steps[first].interval
        self.begin = None
        self.post_message(self.Chosen(begin, self.steps[last].interval))

    def words(self) -> str:
        if not self.steps:
            return "no times are known"
        step = self.steps[self.cursor]
        text = f"at {duration(step.end_ns)}: {human_bytes(step.gross_bytes)} gross in {human_count(step.blocks)} blocks"
        if self.begin is not None:
            first = self.steps[self.begin]
            change = step.gross_bytes - first.gross_bytes
            text += f"; from {duration(first.end_ns)}: {'+' if change > 0 else ''}{human_bytes(change)}"
        return text

    def render_line(self, y: int) -> Strip:
        width, height = self.size.width, self.size.height - _HEAD - _FOOT
        plain = Style()
        if y == 0:
            return Strip([Segment(self.words()[:width].ljust(width), Style(bold=True))])
        if not self.steps or height < 1:
            return Strip.blank(width, Style())
        heap = max([step.gross_bytes for step in (*self.steps, *self.baseline)] + [1.0])
        drawn = [(at, size) for at, size in self.readings if size <= _MOST_RATIO * heap]
        top = max([heap, *(size for _, size in drawn)])
        if y == 1:
            key = f"{_REQUESTED} requested  {_OVER} slop and headers" + (
                f"  {_BASELINE} baseline" if self.baseline else ""
            )
            key += "   reading lives of blocks" if self.more_comes else self._rss_words(len(drawn))
            return Strip([Segment(f"top: {human_bytes(top)}   {key}"[:width].ljust(width), Style(dim=True))])
        groups = columns(self.steps, width)
        before = columns(self.baseline, width)
        if y < _HEAD + height:
            cells = [self._cell(group, _HEAD + height - 1 - y, height, top) for group in groups]
            for number, group in enumerate(before):
                row = int(max(step.gross_bytes for step in group) / top * height)
                if row == _HEAD + height - 1 - y and cells[number] == " ":
                    cells[number] = _BASELINE
            for at_ns, size in drawn:
                if min(int(size / top * height), height - 1) == _HEAD + height - 1 - y:
                    cells[min(int(at_ns / max(self.steps[-1].end_ns, 1) * width), width - 1)] = _RSS
            return self._strip(cells, groups, plain)
        if y == _HEAD + height:
            most = max([step.allocations for step in self.steps] + [1.0])
            rates = [max(step.allocations for step in group) for group in groups]
            return self._strip([_EIGHTHS[round(8 * rate / most)] for rate in rates], groups, Style(dim=True))
        end = duration(self.steps[-1].end_ns)
        return Strip(
            [Segment(("0" + "allocations".center(width - 1 - len(end)) + end)[:width].ljust(width), Style(dim=True))]
        )

    def _rss_words(self, drawn: int) -> str:
        if not self.readings:
            return ""
        at_ns, size = max(self.readings, key=lambda each: each[1])
        mark = f"{_RSS} " if drawn else ""
        return f"  {mark}RSS{' up to' if len(self.readings) > 1 else ''} {human_bytes(size)} at {duration(at_ns)}"

    def _cell(self, group: Sequence[Step], row: int, height: int, top: float) -> str:
        """The character of a column's row, from the bottom: a column shows its greatest step."""
        step = max(group, key=lambda each: each.gross_bytes)
        requested, gross = (8 * height * each / top for each in (step.requested_bytes, step.gross_bytes))
        eighths = min(max(requested - 8 * row, 0), 8)
        if eighths >= 8 or (eighths > 0 and gross < 8 * row + 4):
            return _EIGHTHS[round(eighths)]
        if gross >= 8 * row + 4:
            return _OVER if requested < 8 * row + 4 else _REQUESTED
        return _EIGHTHS[round(min(max(gross - 8 * row, 0), 8))]

    def _strip(self, cells: Sequence[str], groups: Sequence[Sequence[Step]], style: Style) -> Strip:
        """The cursor's column is reversed; columns of the range are underlined."""
        step = self.steps[self.cursor]
        segments = []
        low, high = self._marked()
        at_cursor = next((n for n, group in enumerate(groups) if step in group), -1)
        for number, (cell, group) in enumerate(zip(cells, groups, strict=True)):
            if number == at_cursor:
                segments.append(Segment("│" if cell == " " else cell, style + Style(reverse=True)))
            elif low < group[-1].interval <= high:
                segments.append(Segment("_" if cell == " " else cell, style + Style(bold=True, underline=True)))
            else:
                segments.append(Segment(cell, style))
        return Strip(segments)

    def _marked(self) -> tuple[int, int]:
        if self.begin is not None:
            ends = sorted((self.steps[self.begin].interval, self.steps[self.cursor].interval))
            return ends[0], ends[1]
        return self.chosen or (0, -2)
