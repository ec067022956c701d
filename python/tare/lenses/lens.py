"""A lens: one question, one declarative query, and the texts of its answer.

A lens' query runs over the tables of `tare schema`, in the SQL that DuckDB and Spark share: cast(x as t) and not x::t,
max_by, case, window functions; no lambda, no list type, no `filter (where ...)`. It returns claims, one row a claim:

  size_id      whose bytes are claimed (site_sizes); a tare lens claims each shape at most once; null for a stack's claim
  stack_id      where
  blocks        blocks concerned at the peak
  bytes_peak, bytes_end, bytes_total   claimed at the peak, at the end, over the whole run; null: unknown
  byte_ns       claimed bytes x time, nanoseconds
  calls         calls concerned over the whole run
  ...           evidence: any further columns, which `evidence` aggregates a site
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tare.lenses.saving import Saving

Evidence = dict[str, Any]
Confidence = Literal["high", "medium", "low"]


# In a remedy: the line of the site whose `partner_row` is among the evidence, for a finding about two sites.
PARTNER = "$partner"


class Advice(NamedTuple):
    """The remedy at a site, and the confidence that it helps."""

    remedy: str
    confidence: Confidence
    mark: str = ""  # a short tag for the reports: "clownshoe"
    amount: str = ""  # what the reports put before the site, where the lens' unit doesn't say it


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
    evidence: Mapping[str, str]  # name -> aggregate over the claims of one site
    shown: str  # condition over a folded finding's columns, evidence and $gross_peak, $gross_end, $calls_total
    order: str  # ranking of findings, descending; never cumulative bytes alone
    unit: str  # the figure of a finding in the summary: a format over its columns
    advise: Callable[[Evidence], Advice]
    saves: Callable[[Evidence], Saving]  # what the remedy saves at a site
    # contents: runs only over recordings made with --content; snapshots: with that or --snapshots
    needs: Literal["events", "contents", "snapshots"] = "events"
    facts: tuple[str, ...] = ()  # of tare.schema.missing: doesn't run over an import without one of these
    guide: str = ""  # the folder in guide/ with a program that has this waste, and the same without; "": none yet
