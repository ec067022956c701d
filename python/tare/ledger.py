"""The ledger: grants each claimed byte to one lens, and folds what was granted into findings.

Bytes are granted in the order of `lenses.NAMES`: a shape's gross bytes at a moment are handed to its claims in turn until
none are left, so that no byte is counted twice and net = gross - tare can't be negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare import lenses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.database import Database
    from tare.lenses.lens import Lens

# One row a claim that was granted something: what it got at each moment. "Before" is what earlier lenses claimed of the
# same shape: with claims c1, c2, ... of a shape of G bytes, least(c, greatest(0, G - before)) is exactly what handing out
# in turn gives.
_GRANTS = """
create table grants as
with held as (
  select shape_id, (usable_bytes + header_bytes) * peak_blocks as gross_peak, (usable_bytes + header_bytes) * end_blocks as gross_end,
         (usable_bytes + header_bytes) * total_blocks as gross_total, byte_ns as gross_byte_ns
  from site_sizes
),
queue as (
  select c.*, h.gross_peak, h.gross_end, h.gross_total, h.gross_byte_ns,
         coalesce(sum(c.bytes_peak) over before, 0) as before_peak, coalesce(sum(c.bytes_end) over before, 0) as before_end,
         coalesce(sum(c.bytes_total) over before, 0) as before_total, coalesce(sum(c.byte_ns) over before, 0) as before_byte_ns
  from ({claims}) c join held h on h.shape_id = c.shape_id
  window before as (partition by c.shape_id order by c.turn rows between unbounded preceding and 1 preceding)
)
select lens, shape_id, least(bytes_peak, greatest(0, gross_peak - before_peak)) as bytes_peak,
       least(bytes_end, greatest(0, gross_end - before_end)) as bytes_end,
       least(bytes_total, greatest(0, gross_total - before_total)) as bytes_total,
       least(byte_ns, greatest(0, gross_byte_ns - before_byte_ns)) as byte_ns
from queue
"""


# Shapes up to which optimizing a query costs more than it saves: 7 of the 36 ms that all queries of a summary take.
_SMALL_SHAPES = 5000


class Finding(NamedTuple):
    """What one lens has to say about one site."""

    lens: str
    site_id: int
    site_row: int | None  # null: the stack is empty
    sites: int  # sites folded into this one, where findings were merged by the line that names them
    blocks: float
    bytes_peak: float | None
    bytes_end: float | None
    bytes_total: float | None
    byte_ns: float | None
    calls: float
    shown: bool  # above the lens' display threshold
    remedy: str
    confidence: str
    mark: str


class LensTotals(NamedTuple):
    """All of a lens' claims together, after granting."""

    lens: str
    weight: str
    bytes_peak: float
    bytes_end: float
    bytes_total: float
    findings: int


class Totals(NamedTuple):
    """The program's heap, before any lens: what site_sizes adds up to."""

    gross_peak: float
    gross_end: float
    calls_total: float


class Ledger:
    """Claims and grants of the lenses that run over one recording."""

    def __init__(self, database: Database, names: Sequence[str] = lenses.NAMES) -> None:
        self._database = database
        self.lenses: list[Lens] = [lenses.load(name) for name in lenses.NAMES if name in names]
        database.use("site_sizes")
        (shapes,) = database.row("select count(*) from site_sizes")
        if shapes <= _SMALL_SHAPES:
            database.run("pragma disable_optimizer")
        self._collect()
        self.totals = Totals(
            *database.row(
                "select coalesce(sum((usable_bytes + header_bytes) * peak_blocks), 0),"
                " coalesce(sum((usable_bytes + header_bytes) * end_blocks), 0), coalesce(sum(total_blocks), 0) from site_sizes"
            )
        )

    def _collect(self) -> None:
        database = self._database
        turns = []
        for turn, lens in enumerate(self.lenses):
            database.use(*lens.tables)
            database.run(f"create table {_table(lens)} as {lens.claims}")
            if lens.weight == "tare":
                turns.append(
                    f"select '{lens.name}' as lens, {turn} as turn, shape_id, bytes_peak, bytes_end, bytes_total, byte_ns"
                    f" from {_table(lens)}"
                )
        nothing = "select '' as lens, 0 as turn, 0 as shape_id, 0.0 as bytes_peak, 0.0 as bytes_end, 0.0 as bytes_total, 0.0 as byte_ns where false"
        database.run(_GRANTS.format(claims=" union all ".join(turns) or nothing))

    def tare_bytes(self) -> tuple[float, float]:
        """Bytes granted at the peak and at the end: gross minus these is net."""
        peak, end = self._database.row("select coalesce(sum(bytes_peak), 0), coalesce(sum(bytes_end), 0) from grants")
        return peak, end

    def lens_totals(self) -> list[LensTotals]:
        parts = " union all ".join(
            f"select {turn} as turn, coalesce(sum(bytes_peak), 0), coalesce(sum(bytes_end), 0), coalesce(sum(bytes_total), 0),"
            f" count(*) from {self._granted(lens)}"
            for turn, lens in enumerate(self.lenses)
        )
        rows = self._database.rows(f"select * from ({parts}) order by turn") if parts else []
        return [LensTotals(lens.name, lens.weight, *sums) for lens, (_, *sums) in zip(self.lenses, rows, strict=True)]

    def findings(
        self, lens: Lens, *, by: str = "site_id", limit: int | None = None, all_claims: str = "shown only"
    ) -> list[Finding]:
        """Folded a site, or merged by the line that names it (`by="site_row"`); best first."""
        database = self._database
        database.use("sites", "stack_sites")
        claims = self._granted(lens)
        evidence = ", ".join(f"{sql} as {name}" for name, sql in lens.evidence.items())
        shown = (
            lens.shown.replace("$gross_peak", repr(float(self.totals.gross_peak)))
            .replace("$gross_end", repr(float(self.totals.gross_end)))
            .replace("$calls_total", repr(float(self.totals.calls_total)))
        )
        order = ", ".join(f"coalesce({part.strip()}, 0) desc" for part in _split(lens.order))
        where = "" if all_claims == "all" else "where shown"
        rows = database.records(
            f"""
            with located as (
              select c.*, s.site_id, t.site_row from {claims} c
              join stack_sites s on s.stack_id = c.stack_id join sites t on t.site_id = s.site_id
            ),
            folded as (
              select max_by(site_id, coalesce(bytes_peak, 0) + coalesce(bytes_total, 0) / 1e6) as site_id,
                     max_by(site_row, coalesce(bytes_peak, 0) + coalesce(bytes_total, 0) / 1e6) as site_row,
                     count(distinct site_id) as sites, sum(blocks) as blocks, sum(bytes_peak) as bytes_peak,
                     sum(bytes_end) as bytes_end, sum(bytes_total) as bytes_total, sum(byte_ns) as byte_ns, sum(calls) as calls,
                     {evidence}
              from located group by {by}
            ),
            judged as (select *, coalesce({shown}, false) as shown from folded)
            select * from judged {where} order by shown desc, {order}, site_id {"" if limit is None else f"limit {limit}"}
            """
        )
        return [self._finding(lens, row) for row in rows]

    def sums_by_site(self, lens: Lens) -> list[tuple[int, float | None, float | None]]:
        """(site_id, bytes at the peak, bytes in all) of everything the lens was granted, shown or not."""
        self._database.use("stack_sites")
        return self._database.rows(
            f"select s.site_id, sum(c.bytes_peak), sum(c.bytes_total) from {self._granted(lens)} c"
            " join stack_sites s on s.stack_id = c.stack_id group by s.site_id"
        )

    @staticmethod
    def _granted(lens: Lens) -> str:
        """The lens' claims with the bytes it was granted; the rest of a row is the claim's own."""
        if lens.weight != "tare":
            return _table(lens)
        names = ("bytes_peak", "bytes_end", "bytes_total", "byte_ns")
        return (
            f"(select c.* replace ({', '.join(f'g.{name} as {name}' for name in names)}) from {_table(lens)} c"
            f" join grants g on g.shape_id = c.shape_id and g.lens = '{lens.name}')"
        )

    @staticmethod
    def _finding(lens: Lens, row: dict[str, Any]) -> Finding:
        advice = lens.advise(row)
        return Finding(
            lens=lens.name,
            remedy=advice.remedy,
            confidence=advice.confidence,
            mark=advice.mark,
            **{name: row[name] for name in _FOLDED},
        )


_FOLDED = (
    "site_id",
    "site_row",
    "sites",
    "blocks",
    "bytes_peak",
    "bytes_end",
    "bytes_total",
    "byte_ns",
    "calls",
    "shown",
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
