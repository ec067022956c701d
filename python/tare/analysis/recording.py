"""One recording as the reports see it: its facts, its tables, its names, its ledger."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tare.analysis.doubts import doubted, has_doubts
from tare.naming.names import Frame, Names
from tare.source.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from tare.analysis.account import Account
    from tare.analysis.ledger import Finding, Ledger
    from tare.analysis.peak_snapshot import PeakSnapshot
    from tare.analysis.prices import Prices
    from tare.lenses.lens import Lens
    from tare.naming.names import NameSource
    from tare.source.database import TableSource, TableStore

    class Source(TableSource, NameSource, Protocol):
        """The source of a recording."""

        path: str
        depth: int  # frames of a site
        warnings: Sequence[str]

        def count(self, name: str) -> int:
            """Rows of a table, without a database."""

        def process(self) -> dict[str, Any]:
            """The one row of table `process`, without a database."""

        def claim_at(self, at_ns: int | None, reports: int | None) -> None:
            """Table `claimed` is of this time from now on, or after so many reports; without either of the end."""

        def line_callers(self, rows: Sequence[int]) -> Sequence[tuple[int, int | None, float, float]]:
            """Of lines that name sites: line, caller, bytes at the peak, blocks in all. Of a line of Python, callers are lines of Python."""

        def by_line(self) -> Source:
            """The same, its stacks folded by the line that names them."""

        def in_bands(self) -> Source:
            """As by_line(), with fewer sizes, where nothing but site_sizes names shapes."""


# Findings of a lens that are compared for equal text: a screen shows three, and skips some of low confidence. Names of
# all that there are would be a second of a compiler's report.
_LOOKED_ALIKE = 12
WATCHED = "tare watch"  # process.imported_from of a watched process' recordings: kWatchedSource in the core
SITE_DEPTH = 8  # DMD's default: deep enough to distinguish callers, few enough to read


class Moment:
    """The heap at one instant, or over the whole run: exact sums, and the parts granted to lenses."""

    def __init__(self, process: dict[str, Any], name: str, tare_bytes: float | None) -> None:
        self.name = name
        self.blocks: float = process[f"{name}_blocks"]
        self.requested_bytes: float = process[f"{name}_requested_bytes"]
        self.usable_bytes: float | None = process[f"{name}_usable_bytes"]
        self.gross_bytes: float = process[f"{name}_gross_bytes"]
        self.tare_bytes = None if tare_bytes is None else float(round(tare_bytes))
        self.net_bytes = None if self.tare_bytes is None else self.gross_bytes - self.tare_bytes


class Recording:
    def __init__(
        self,
        source: Source,
        lenses: Sequence[str] | None = None,
        engine: Callable[[TableSource], TableStore] = Database,
        *,
        only_grants: Sequence[str] = (),
    ) -> None:
        """`only_grants`: as the ledger has it."""
        self.source = source
        self.path = source.path
        self.database = engine(source)
        self.names = Names(source)
        self._lens_names = lenses
        self._only_grants = only_grants
        self._found: dict[tuple[str, str, int | None], list[Finding]] = {}  # by lens, folding and limit
        self._alike: dict[str, Mapping[int, int]] = {}  # by lens

    @cached_property
    def process(self) -> dict[str, Any]:
        """The one row of table `process`."""
        return self.source.process()

    @cached_property
    def ledger(self) -> Ledger:
        from tare.analysis.ledger import Ledger

        return Ledger(self.database, self.runnable_lenses(), sampled=self.sampled, only_grants=self._only_grants)

    def runnable_lenses(self) -> list[str]:
        """Those that the recording has the data for."""
        from tare import lenses

        return [lens.name for lens in lenses.load_runnable(self._lens_names or lenses.NAMES, self.process)]

    def run_lenses_of(self, other: Recording) -> None:
        """Only lenses that run over `other`, too; set before the ledger is computed. Otherwise tare would depend on the chosen
        lenses.
        """
        from tare import lenses

        mine = self._lens_names or lenses.NAMES
        self._lens_names = [lens.name for lens in lenses.load_runnable(mine, other.process)]

    @property
    def sampled(self) -> bool:
        """True if counts are estimates. Blocks of imported sums have weights, too, but exact ones."""
        return bool(self.process["sample_bytes"]) and self.process["imported_from"] in (None, "", WATCHED)

    @cached_property
    def has_tare(self) -> bool:
        """False: an imported file has the facts of none of the lenses whose bytes are tare. Its tare isn't 0, but unknown."""
        return not self.process["missing_facts"] or any(lens.weight == "tare" for lens in self.ledger.lenses)

    @cached_property
    def snapshot(self) -> PeakSnapshot | None:
        """The snapshot that stands for the peak."""
        from tare.analysis.peak_snapshot import peak_snapshot

        return peak_snapshot(self)

    @cached_property
    def account(self) -> Account | None:
        """The parts of the peak RSS; None: it is unknown."""
        from tare.analysis.account import account

        return account(self)

    @cached_property
    def prices(self) -> Prices:
        """Of the calls of its sites."""
        from tare.analysis.prices import Prices

        return Prices(self.database)

    @cached_property
    def moments(self) -> dict[str, Moment]:
        peak_tare, end_tare = self.ledger.tare_bytes() if self.has_tare else (None, None)
        return {
            "peak": Moment(self.process, "peak", peak_tare),
            "end": Moment(self.process, "end", end_tare),
            "total": Moment(self.process, "total", None),
        }

    @cached_property
    def by_line(self) -> Recording:
        """The same recording folded by line: findings as a summary of the run has them, a line each."""
        return Recording(self.source.by_line(), self._lens_names)

    @property
    def title(self) -> str:
        """`python3.11 (pid 4711)`; `redis-server = redis-check-rdb (pid 4711)` where the file goes by another name; `postgres:
        checkpointer (pid 4711)` if the program replaced its command line."""
        program = self.process["title"] or self.process["program"]
        command = "" if self.process["title"] else self.process["command_line"]
        # `'redis-server *:6379'`: a title that the program wrote over its arguments, which begins with its name.
        title = command[1:-1] if command.startswith("'") and command.find("'", 1) == len(command) - 1 else command
        first = program if title.endswith(f"/{program}") else title.split(" ", 1)[0].rstrip(":")
        called = first.rpartition("/")[2].lstrip("-")
        alias = "" if not called or "'" in first or program.startswith(called) else f"{called} = "
        number = f" (pid {self.process['pid']})" if self.process["pid"] else ""  # 0: imported without it
        return f"{alias}{program}{number}"

    def site_stacks(self, site_ids: Sequence[int]) -> dict[int, list[Frame]]:
        """The frames of sites, innermost first."""
        if not site_ids:
            return {}
        self.database.use("sites")
        listed = ",".join(str(site_id) for site_id in site_ids)
        stacks = dict(self.database.rows(f"select site_id, stack_id from sites where site_id in ({listed})"))
        self.names.prepare_stacks(stacks.values(), self.source.depth)
        return {site_id: self.names.stack(stack_id, self.source.depth) for site_id, stack_id in stacks.items()}

    def alike(self, lens: Lens) -> Mapping[int, int]:
        """Of the lens' first findings by line, rows that read the same as an earlier one's: calls of one macro, copies of an
        inlined function. By such a row the one that stands for it."""
        if lens.name not in self._alike:
            first: dict[tuple[str, str, str], int] = {}
            found = self.ledger.findings(lens, by="site_location_id", limit=_LOOKED_ALIKE)
            rows = [
                each.site_location_id
                for each in found
                if each.site_location_id is not None and each.partner_row is None
            ]
            self.names.prepare(rows)
            named = {row: self.names.at(row) for row in rows}
            same = {row: first.setdefault(frame.reads, row) for row, frame in named.items() if frame.function}
            self._alike[lens.name] = {row: other for row, other in same.items() if row != other}
        return self._alike[lens.name]

    def findings_by_line(self, lens: Lens, limit: int | None = None) -> list[Finding]:
        """As the ledger has them, those that read the same made one."""
        return self.ledger.findings(lens, by="site_location_id", limit=limit, alike=self.alike(lens))

    def findings(self, lens: Lens, *, by: str = "site_id", limit: int | None = None) -> list[Finding]:
        """Those above the lens's threshold, with complete texts: the ledger has no names of other sites."""
        known = (lens.name, by, limit)
        if known not in self._found:
            self._found[known] = self._find(lens, by, limit)
        return self._found[known]

    def _find(self, lens: Lens, by: str, limit: int | None) -> list[Finding]:
        every = (
            self.findings_by_line(lens, limit)
            if by == "site_location_id"
            else self.ledger.findings(lens, by=by, limit=limit)
        )
        found = [each for each in every if each.shown]
        rows = {each.partner_row for each in found if each.partner_row is not None}
        self.names.prepare(sorted(rows))
        named = {row: str(self.names.at(row)) for row in rows}
        found = [self._bounded(each, lens) for each in found]
        if has_doubts(lens.name):
            frames, program = self.finding_frames(found), self.process["exe"] or ""
            found = [doubted(each, frame, program) for each, frame in zip(found, frames, strict=True)]
        return [each._replace(partner=named[each.partner_row]) if each.partner_row in named else each for each in found]

    def _bounded(self, finding: Finding, lens: Lens) -> Finding:
        """Lower bounds where the snapshot had little of the peak. Leaks are counted at the exit, whose snapshot has all blocks."""
        if not finding.rests_on_snapshot or lens.unit == "end" or self.snapshot is None or self.snapshot.is_enough:
            return finding
        confidence = "medium" if finding.confidence == "high" else finding.confidence
        return finding._replace(confidence=confidence, at_least=True)

    def finding_frames(self, findings: Sequence[Finding]) -> list[Frame]:
        """The frame that names each finding's site; looked up in one batch."""
        self.names.prepare(finding.site_location_id for finding in findings if finding.site_location_id is not None)
        return [self.names.at(finding.site_location_id) for finding in findings]
