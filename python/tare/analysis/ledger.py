"""The ledger: grants each claimed byte to one lens, and folds grants into findings.

Bytes are granted in the order of `lenses.NAMES`: a shape's gross bytes at a moment are handed to its claims in turn until
none are left, so that no byte is counted twice and net = gross - tare can't be negative.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tare import lenses
from tare.lenses.change import CHANGE
from tare.lenses.lens import PARTNER
from tare.lenses.saving import Saving

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.lenses.change import Change, Language
    from tare.lenses.lens import Lens
    from tare.source.database import TableStore

# The granted part of a claim at each moment. "Taken" is the part that earlier lenses got of the same shape: with claims
# c1, c2, ... of a shape of G bytes, least(c, greatest(0, G - taken)) is exactly the result of granting in turn.
_MOMENTS = {"bytes_peak": "peak_blocks", "bytes_end": "end_blocks", "bytes_total": "total_blocks"}
_GRANTED = {
    name: f"least(c.{name}, greatest(0, (h.usable_bytes + h.header_bytes) * h.{blocks} - {{taken}}))"
    for name, blocks in _MOMENTS.items()
} | {"byte_ns": "least(c.byte_ns, greatest(0, h.byte_ns - {taken}))"}


# Shapes up to which optimizing a query costs more than it saves: 7 of the 36 ms that all queries of a summary take.
_SMALL_SHAPES = 5000


class Finding(NamedTuple):
    """One lens's result for one site."""

    lens: str
    site_id: int
    site_location_id: int | None  # null: the stack is empty
    sites: int  # sites folded into this one, where findings were merged by the line that names them
    blocks: float
    bytes_peak: float | None
    bytes_end: float | None
    bytes_total: float | None
    byte_ns: float | None
    calls: float
    shown: bool  # above the lens' display threshold
    text: str  # the remedy, with CHANGE where that of the site's language is to stand, and PARTNER
    confidence: str
    mark: str
    amount: str = ""
    partner_row: int | None = None  # names the other site, where a finding is about two
    partner: str = "the other"
    change: Change | None = None
    saving: Saving = Saving("a design")
    rests_on_snapshot: bool = False
    at_least: bool = False  # the snapshot had too little of the peak: the amounts are lower bounds
    samples: float | None = None  # recorded blocks that the amounts stand on; None: every block is recorded

    def remedy_in(self, language: Language) -> str:
        """`analysis/languages.py` has the language of a site."""
        text = self.text.replace(CHANGE, self.change.wording(language)) if self.change else self.text
        return text.replace(PARTNER, self.partner)


class LensTotals(NamedTuple):
    """All of a lens' claims together, after granting."""

    lens: str
    weight: str
    bytes_peak: float
    bytes_end: float
    bytes_total: float
    findings: int


class Totals(NamedTuple):
    """The program's heap, before any lens: the sums of site_sizes."""

    gross_peak: float
    gross_end: float
    calls_total: float


class Ledger:
    """Claims and grants of the lenses that run over one recording."""

    def __init__(
        self,
        database: TableStore,
        names: Sequence[str] = lenses.NAMES,
        *,
        sampled: bool = False,
        only_grants: Sequence[str] = (),
    ) -> None:
        """`only_grants`: columns of grants(), if nothing else will be called but tare_bytes(). The claims' other columns aren't computed then."""
        self._database = database
        self._sampled = sampled
        self._only_grants = only_grants
        self.lenses: list[Lens] = [lenses.load(name) for name in lenses.NAMES if name in names]
        database.use("site_sizes")
        shapes, *totals = database.row(
            "select count(*), coalesce(sum((usable_bytes + header_bytes) * peak_blocks), 0),"
            " coalesce(sum((usable_bytes + header_bytes) * end_blocks), 0), coalesce(sum(total_blocks), 0) from site_sizes"
        )
        self.totals = Totals(*totals)
        if shapes <= _SMALL_SHAPES:
            database.plan_simply()
        self._collect()

    def _collect(self) -> None:
        """Makes a table of each lens's claims; of a tare lens with its grants."""
        granted: list[Lens] = []
        for lens in self.lenses:
            self._database.use(*lens.tables)
            claims = lens.claims
            if lens.weight == "tare":
                claims = self._grant(claims, granted)
                granted.append(lens)
            if self._only_grants:
                claims = f"select size_id, stack_id, {', '.join(self._only_grants)} from ({claims})"
            self._database.run(f"create table {_table(lens)} as {claims}")

    def _grant(self, claims: str, earlier: Sequence[Lens]) -> str:
        """The claims, reduced by those of `earlier` lenses."""
        taken, join = "0", ""
        if earlier:
            sums = ", ".join(f"sum({name}) as {name}" for name in self._grants)
            join = f"left join (select size_id, {sums} from ({self._all_of(earlier)}) group by size_id) t on t.size_id = c.size_id"
        columns = self._database.replaced(
            "c",
            claims,
            {
                name: _GRANTED[name].format(taken=f"coalesce(t.{name}, 0)" if earlier else taken)
                for name in self._grants
            },
        )
        return f"select {columns} from ({claims}) c join site_sizes h on h.size_id = c.size_id {join}"

    def grants(self) -> str:
        """A query: one row a claim that counts as tare, `lens`, `size_id` and the bytes it was granted."""
        return self._all_of([lens for lens in self.lenses if lens.weight == "tare"])

    def claims_of(self, chosen: Sequence[Lens]) -> str:
        """A query as grants(), of these lenses; potential ones have what they claim. `size_id` is null for a stack's claim."""
        return self._all_of([lens for lens in self.lenses if lens in chosen])

    @property
    def _grants(self) -> Sequence[str]:
        return self._only_grants or tuple(_GRANTED)

    def _all_of(self, granted: Sequence[Lens]) -> str:
        columns = ", ".join(self._grants)
        nothing = ", ".join(f"0.0 as {name}" for name in self._grants)
        return (
            " union all ".join(
                f"select '{lens.name}' as lens, size_id, stack_id, {columns} from {_table(lens)}" for lens in granted
            )
            or f"select '' as lens, 0 as size_id, 0 as stack_id, {nothing} where false"
        )

    def tare_bytes(self) -> tuple[float, float]:
        """Bytes granted at the peak and at the end: gross minus these is net."""
        if not self._only_grants:
            return sum(each.bytes_peak for each in self.tare_totals), sum(each.bytes_end for each in self.tare_totals)
        sums = [
            self._database.row(f"select coalesce(sum(bytes_peak), 0), coalesce(sum(bytes_end), 0) from {_table(lens)}")
            for lens in self.lenses
            if lens.weight == "tare"
        ]
        return sum(peak for peak, _ in sums), sum(end for _, end in sums)

    @cached_property
    def tare_totals(self) -> list[LensTotals]:
        """Of the lenses whose bytes are subtracted from gross."""
        return self._totals_of([lens for lens in self.lenses if lens.weight == "tare"])

    def lens_totals(self) -> list[LensTotals]:
        return self._totals_of(self.lenses)

    def _totals_of(self, chosen: Sequence[Lens]) -> list[LensTotals]:
        parts = " union all ".join(
            f"select {turn} as turn, coalesce(sum(bytes_peak), 0), coalesce(sum(bytes_end), 0), coalesce(sum(bytes_total), 0),"
            f" count(*) from {_table(lens)}"
            for turn, lens in enumerate(chosen)
        )
        rows = self._database.rows(f"select * from ({parts}) order by turn") if parts else []
        return [LensTotals(lens.name, lens.weight, *sums) for lens, (_, *sums) in zip(chosen, rows, strict=True)]

    def findings(
        self,
        lens: Lens,
        *,
        by: str = "site_id",
        limit: int | None = None,
        all_claims: str = "shown only",
        alike: Mapping[int, int] | None = None,
    ) -> list[Finding]:
        """Folded a site, or merged by the line that names it (`by="site_location_id"`); best first. `alike`: the representative of rows
        with equal text.
        """
        database = self._database
        database.use("sites", "stack_sites")
        evidence = ", ".join(f"{sql} as {name}" for name, sql in lens.evidence.items())
        order = ", ".join(f"coalesce({part.strip()}, 0) desc" for part in _split(lens.order))
        where = "" if all_claims == "all" else "where shown"
        row, named, join = "t.site_location_id", "", ""
        samples, counted = self._samples(lens)
        if alike:
            pairs = ", ".join(f"({one}, {other})" for one, other in sorted(alike.items()))
            named = f"alike(alike_row, named_row) as (values {pairs}),"
            row, join = (
                "coalesce(a.named_row, t.site_location_id)",
                "left join alike a on a.alike_row = t.site_location_id",
            )
        if self._sampled:
            join += _WEIGHTS
        rows = database.records(
            f"""
            with {named} located as (
              select c.*, s.site_id, {row} as site_location_id{samples} from {_table(lens)} c
              join stack_sites s on s.stack_id = c.stack_id join sites t on t.site_id = s.site_id {join}
            ),
            folded as (
              select max_by(site_id, coalesce(bytes_peak, 0) + coalesce(bytes_total, 0) / 1e6) as site_id,
                     max_by(site_location_id, coalesce(bytes_peak, 0) + coalesce(bytes_total, 0) / 1e6) as site_location_id,
                     count(distinct site_id) as sites, sum(blocks) as blocks, sum(bytes_peak) as bytes_peak,
                     sum(bytes_end) as bytes_end, sum(bytes_total) as bytes_total, sum(byte_ns) as byte_ns, sum(calls) as calls,
                     {counted} {evidence}
              from located group by {by}
            ),
            judged as (select *, {self._shown(lens)} as shown from folded)
            select * from judged {where} order by shown desc, {order}, site_id {"" if limit is None else f"limit {limit}"}
            """
        )
        return [self._finding(lens, row) for row in rows]

    def sums_by_site(self, lens: Lens) -> list[tuple[int, float | None, float | None]]:
        """(site_id, bytes at the peak, bytes in all) of everything the lens was granted, shown or not."""
        self._database.use("stack_sites")
        return self._database.rows(
            f"select s.site_id, sum(c.bytes_peak), sum(c.bytes_total) from {_table(lens)} c"
            " join stack_sites s on s.stack_id = c.stack_id group by s.site_id"
        )

    def site_claims(self, lens: Lens) -> list[tuple[int, float | None, float | None, float | None, float, bool]]:
        """(site_id, bytes at the peak, at the end, in all, calls, shown) of each site with a claim: a sixth of the cost of findings()."""
        self._database.use("stack_sites")
        samples, counted = self._samples(lens)
        words = set(re.findall(r"\w+", lens.shown))
        evidence = "".join(f", {sql} as {name}" for name, sql in lens.evidence.items() if name in words)
        return self._database.rows(
            f"""
            with folded as (
              select site_id, sum(blocks) as blocks, sum(bytes_peak) as bytes_peak, sum(bytes_end) as bytes_end,
                     sum(bytes_total) as bytes_total, sum(calls) as calls, {counted} count(*) as claims {evidence}
              from (select c.*, s.site_id{samples} from {_table(lens)} c join stack_sites s on s.stack_id = c.stack_id
                    {_WEIGHTS if self._sampled else ""}) located
              group by site_id
            )
            select site_id, bytes_peak, bytes_end, bytes_total, calls, {self._shown(lens)} as shown from folded
            """
        )

    def _shown(self, lens: Lens) -> str:
        """SQL over a site's sums: if it is a finding. Of a sampled recording it needs the column of _samples()."""
        condition = (
            lens.shown.replace("$gross_peak", repr(float(self.totals.gross_peak)))
            .replace("$gross_end", repr(float(self.totals.gross_end)))
            .replace("$calls_total", repr(float(self.totals.calls_total)))
        )
        few = f" and coalesce(samples, 0) >= {LEAST_SAMPLES}" if self._sampled else ""
        return f"coalesce({condition}, false){few}"

    def _samples(self, lens: Lens) -> tuple[str, str]:
        """Of a sampled recording: a claim's recorded blocks as a column, which needs _WEIGHTS, and their sum."""
        if not self._sampled:
            return "", ""
        recorded = _SAMPLED_CALLS if lens.unit in _UNITS_OF_CALLS else _SAMPLED_BLOCKS
        return f", {recorded} / coalesce(w.weight, k.weight, 1) as samples", "sum(samples) as samples,"

    @staticmethod
    def _finding(lens: Lens, row: dict[str, Any]) -> Finding:
        advice = lens.advise(row)
        saving = lens.saves(row)
        return Finding(
            lens=lens.name,
            text=advice.remedy,
            change=advice.change,
            confidence=advice.confidence,
            mark=advice.mark,
            amount=advice.amount,
            shown=bool(row["shown"]),
            partner_row=row.get("partner_row"),
            saving=saving,
            samples=row.get("samples"),
            rests_on_snapshot=lens.needs == "snapshots" and not saving.exact,
            **{name: row[name] for name in _FOLDED},
        )


# Below so many recorded blocks, the standard error of a sampled amount is above 22 %: one event must not become a finding.
LEAST_SAMPLES = 20
_UNITS_OF_CALLS = ("calls", "copied")
_SAMPLED_CALLS, _SAMPLED_BLOCKS = "c.calls", "c.blocks"
# The weight of a claim's blocks; of a stack's claim the mean weight of the stack's.
_WEIGHTS = """
              left join site_sizes w on w.size_id = c.size_id
              left join (select stack_id, sum(total_blocks) / sum(total_blocks / weight) as weight from site_sizes
                         where total_blocks > 0 group by stack_id) k on k.stack_id = c.stack_id"""

_FOLDED = (
    "site_id",
    "site_location_id",
    "sites",
    "blocks",
    "bytes_peak",
    "bytes_end",
    "bytes_total",
    "byte_ns",
    "calls",
)


def _table(lens: Lens) -> str:
    return f"claims_{lens.name.replace('-', '_')}"


def _split(order: str) -> list[str]:
    """Splits at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(order):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(order[start:index])
            start = index + 1
    return [*parts, order[start:]]
