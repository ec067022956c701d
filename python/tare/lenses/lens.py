"""A lens: one question, one declarative query, and the texts of its answer.

A lens' query runs over the tables of `tare schema`, in the SQL that DuckDB, SQLite and Spark share: cast(x as t) and not
x::t, max_by, case, window functions; no lambda, no list type, no `filter (where ...)`. A row of the result is a claim. It has
these columns first, in this order:

  size_id       the shape whose bytes are claimed: a row of site_sizes; null for a claim about a whole stack. A lens of weight
                tare returns at most one row for each shape
  stack_id      the stack that allocated these blocks
  blocks        blocks concerned at the peak
  bytes_peak, bytes_end, bytes_total   claimed at the peak, at the end, over the whole run; null: unknown
  byte_ns       claimed bytes x time, nanoseconds
  calls         calls concerned over the whole run
  ...           further columns as evidence; the aggregates in `evidence` combine the rows of a site

A finding is the sum of the claims of one site.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tare.lenses.change import Change
    from tare.lenses.saving import Saving

Evidence = dict[str, Any]
Confidence = Literal["high", "medium", "low"]
# The figure that reports print before a finding's site: bytes at the peak; bytes copied; calls; bytes at the peak, or calls below
# 4,096 bytes (pairs); the larger of the bytes at the peak and at the end (kept); bytes at the end.
Unit = Literal["bytes", "copied", "calls", "pairs", "kept", "end"]


# In a remedy: the line of the site whose `partner_row` is among the evidence, for a finding about two sites.
PARTNER = "$partner"


class Advice(NamedTuple):
    """The remedy at a site, and the confidence that it helps."""

    remedy: str  # with CHANGE where `change` is to stand
    confidence: Confidence
    mark: str = ""  # a short tag for the reports: "clownshoe"
    amount: str = ""  # what the reports put before the site, where the lens' unit doesn't say it
    change: Change | None = None


class Lens(NamedTuple):
    name: str
    question: str
    why: str
    threshold: str  # in words, with its reason; display only, it never changes net
    false_positives: str
    remedy: str  # in general; a finding has one with its numbers
    weight: Literal["tare", "potential"]  # tare: its bytes leave net; potential: shown beside
    sampling: Literal["exact", "scaled", "unavailable"]
    tables: tuple[str, ...]
    claims: str  # the query
    evidence: Mapping[str, str]  # name -> SQL aggregate over the claims of one site
    shown: str  # SQL condition over a finding's columns, its evidence, $gross_peak, $gross_end and $calls_total
    order: str  # columns, comma-separated, that rank findings, largest first; never bytes_total alone
    unit: Unit
    advise: Callable[[Evidence], Advice]
    saves: Callable[[Evidence], Saving]  # what the remedy saves at a site
    # contents: runs only over recordings made with --content; snapshots: with that or --snapshots
    needs: Literal["events", "contents", "snapshots"] = "events"
    facts: tuple[str, ...] = ()  # of tare.schema.missing: doesn't run over an import without one of these
    guide: str = ""  # the folder in guide/ with a program that has this waste, and the same without; "": none yet
