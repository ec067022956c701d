"""One recording, and its baseline, as the views of `tare explore` show them: findings, sites, the tree of stacks, the timeline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis import account, finding_changes, site_facts
from tare.explore import sums
from tare.explore.choice import LIVES, Choice, When
from tare.explore.course import by_intervals
from tare.explore.graph import Graph, StackTree, Sums, matches
from tare.text.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.finding_changes import FindingChange
    from tare.analysis.recording import Recording
    from tare.analysis.site_facts import Histograms
    from tare.analysis.worth import Whole
    from tare.explore.course import Step
    from tare.explore.sums import Measure
    from tare.naming.names import Frame


class SiteRow(NamedTuple):
    """One line that names sites."""

    row: int | None
    frame: Frame
    sums: Sums
    blocks: float


class Matching(NamedTuple):
    """The functions that match a search, and their amount."""

    functions: set[int]
    amount: float


class Explorer:
    """Not thread-safe: one call at a time."""

    def __init__(self, recording: Recording, baseline: Recording | None = None, *, has_lives: bool = True) -> None:
        self.recording = recording
        self.baseline = baseline
        if baseline is not None:
            baseline.run_lenses_of(recording)
            recording.run_lenses_of(baseline)
        self.has_lives = has_lives and sums.has_times(recording)
        self.measures = {each.key: each for each in sums.measures(recording)}
        self._tree: StackTree | None = None
        self._nodes: list[dict[int, int]] = []  # by stack, of the recording and of the baseline
        self._by_stack: dict[tuple[object, ...], list[dict[int, float]]] = {}
        self._findings: tuple[Whole, list[FindingChange]] | None = None
        self._course: list[Step] | None = None
        self._row_of: list[dict[int, int | None]] = []

    def fitting(self, choice: Choice) -> Choice:
        """The choice with a measure that its time has, and without a thread if nothing is known of them."""
        measure = self.measures.get(choice.measure)
        if not self.has_lives:
            choice = choice._replace(thread=None)
        if measure is None or not measure.is_of(choice.when) or (choice.thread is not None and not measure.each):
            choice = choice._replace(measure="gross")
        return choice

    def measures_of(self, choice: Choice) -> list[Measure]:
        return [
            each
            for each in self.measures.values()
            if each.is_of(choice.when) and (each.each or (choice.thread is None and choice.when.moment != "range"))
        ]

    # -- sums

    def by_stack(self, choice: Choice) -> list[dict[int, float]]:
        """Of the recording; with a baseline, and at a time that both have, of that too."""
        if choice.of_sums not in self._by_stack:
            if len(self._by_stack) > _MOST_KEPT:
                self._by_stack.clear()
            measure = self.measures[choice.measure]
            found = [sums.by_stack(self.recording, choice, measure)]
            if self.compares(choice):
                assert self.baseline is not None
                found.append(sums.by_stack(self.baseline, choice._replace(module=""), measure))
            self._by_stack[choice.of_sums] = found
        return self._by_stack[choice.of_sums]

    def compares(self, choice: Choice) -> bool:
        """Times, threads and files of code of two runs aren't the same."""
        return (
            self.baseline is not None and choice.when.moment != "range" and choice.thread is None and not choice.module
        )

    def total(self, choice: Choice) -> Sums:
        return Sums(*(sum(each.values()) for each in self.by_stack(choice)))

    # -- views

    def findings(self) -> tuple[Whole, list[FindingChange]]:
        """In order of worth; with a baseline those that came and went first."""
        if self._findings is None:
            whole, new = finding_changes.in_order_of_worth(self.recording.by_line)
            if self.baseline is None:
                changes = [finding_changes.FindingChange(None, each) for each in new]
            else:
                _, old = finding_changes.in_order_of_worth(self.baseline.by_line)
                changes = finding_changes.paired(old, new)
            self._findings = whole, changes
        return self._findings

    def sites(self, choice: Choice, most: int) -> tuple[list[SiteRow], int]:
        """The first by amount, or by change, and how many there are. With a search, those that match."""
        blocks = self.by_stack(choice._replace(measure="blocks"))[0]
        found: dict[object, tuple[int | None, Frame | None, Sums]] = {}
        counts: dict[object, float] = {}
        for number, (recording, amounts) in enumerate(zip(self._recordings(), self.by_stack(choice), strict=False)):
            by_row: dict[int | None, float] = {}
            for stack_id, amount in amounts.items():
                row = self._site_row(number, stack_id)
                by_row[row] = by_row.get(row, 0.0) + amount
                if number == 0:
                    counts[row] = counts.get(row, 0.0) + blocks.get(stack_id, 0.0)
            compared = self.compares(choice)
            if compared or choice.search:
                recording.names.prepare(row for row in by_row if row is not None)
            for row, amount in by_row.items():
                frame = recording.names.at(row) if compared or choice.search else None
                key: object = _stable(frame) if compared and frame else row
                value = Sums(0.0, amount) if number else Sums(amount)
                before = found.get(key, (row, frame, Sums()))
                found[key] = (before[0], before[1], before[2].plus(value))
        rows = list(found.values())
        if choice.search:
            expression = compiled(choice.search)
            rows = [each for each in rows if each[1] is not None and expression and matches(expression, each[1])]
        changed = self.compares(choice)
        rows.sort(key=lambda each: -abs(each[2].now - each[2].before) if changed else -each[2].now)
        shown = rows[:most]
        names = self.recording.names
        names.prepare(row for row, frame, _ in shown if frame is None and row is not None)
        return [SiteRow(row, frame or names.at(row), value, counts.get(row, 0.0)) for row, frame, value in shown], len(
            rows
        )

    def facts(self, site: SiteRow) -> tuple[Histograms, list[Frame]]:
        return site_facts.of_line(self.recording, site.row)

    def graph(self, choice: Choice, *, up: bool) -> tuple[Graph, Matching | None]:
        tree = self._tree_of(choice)
        sums_of: dict[int, Sums] = {}
        for number, amounts in enumerate(self.by_stack(choice)):
            nodes = self._nodes[number]
            for stack_id, amount in amounts.items():
                node = nodes.get(stack_id, 0)
                sums_of[node] = sums_of.get(node, Sums()).plus(Sums(0.0, amount) if number else Sums(amount))
        graph = Graph(tree, sums_of, up=up, own_only=choice.own_only)
        expression = compiled(choice.search)
        return graph, Matching(*graph.matching(expression, sums_of)) if expression else None

    def modules(self, choice: Choice) -> list[tuple[str, float]]:
        return sums.modules(self.recording, choice, self.measures[choice.measure])

    def threads(self) -> list[tuple[int, float]]:
        return sums.threads(self.recording) if self.has_lives else []

    def course(self) -> list[Step]:
        if self._course is None:
            self._course = by_intervals(self.recording)
        return self._course

    def rss_readings(self) -> list[tuple[int, int]]:
        """Times and the program's RSS then. A live process's tables have none."""
        return account.rss_readings(self.recording) if self.has_lives else []

    # -- words

    def time_of(self, interval: int) -> int:
        """The end of an interval, in nanoseconds since the start."""
        if interval < 0:
            return 0
        self.recording.database.use("lifetimes", "intervals")
        rows = self.recording.database.rows(f"select end_ns from intervals where interval = {interval}")
        return int(rows[0][0]) if rows else 0

    def words(self, when: When, *, in_progress: bool = False) -> str:
        if when.moment == "peak":
            return f"at the peak ({duration(self.recording.process['peak_time_ns'] or 0)})"
        if when.moment == "end":
            return "now" if in_progress else "at the end"
        if when.moment == "total":
            return "over the whole run"
        end = duration(self.time_of(when.end))
        return (
            f"live at {end}"
            if when.life == "live"
            else f"{LIVES[when.life]} {duration(self.time_of(when.begin))} to {end}"
        )

    # -- parts

    def _recordings(self) -> Sequence[Recording]:
        return (self.recording, self.baseline) if self.baseline is not None else (self.recording,)

    def _site_row(self, number: int, stack_id: int) -> int | None:
        while len(self._row_of) <= number:
            database = self._recordings()[len(self._row_of)].database
            database.use("stack_sites", "sites")
            rows = database.rows(
                "select x.stack_id, t.site_location_id from stack_sites x join sites t on t.site_id = x.site_id"
            )
            self._row_of.append(dict(rows))
        return self._row_of[number].get(stack_id)

    def _tree_of(self, choice: Choice) -> StackTree:
        """Of all stacks that allocated; those of lifetimes only if a time is chosen, since pools have more."""
        if self._tree is None:
            tree = StackTree()
            for recording in self._recordings():
                recording.database.use("site_sizes")
                stacks = {row[0] for row in recording.database.rows("select distinct stack_id from site_sizes")}
                self._nodes.append(tree.add(recording, sorted(stacks), moved=self.baseline is not None))
            self._tree = tree
        more = sorted(set(self.by_stack(choice)[0]) - self._nodes[0].keys())
        if more:
            tree = StackTree()
            self._nodes[0] = tree.add(self.recording, sorted([*self._nodes[0], *more]), moved=self.baseline is not None)
            if self.baseline is not None:
                self._nodes[1] = tree.add(self.baseline, sorted(self._nodes[1]), moved=True)
            self._tree = tree
        return self._tree


_MOST_KEPT = 12  # choices whose sums are kept: 100,000 stacks are 10 MB each


def compiled(search: str) -> re.Pattern[str] | None:
    """None: empty, or no regular expression."""
    try:
        return re.compile(search, re.IGNORECASE) if search else None
    except re.error:
        return None


def _stable(frame: Frame) -> str:
    """The name of a site in another build of the program."""
    return frame.mangled or frame.function or f"?{frame.module.rpartition('/')[2]}"
