"""Limits for new recordings, from the recordings of their program in a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tare.analysis.budget import Verdict, allowed, figure
from tare.errors import USAGE, TareError
from tare.fleet.layout import file_hash
from tare.fleet.order_statistics import PROBABILITIES, label, least_size, ranks
from tare.progress import warn
from tare.text.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.budget import Noise
    from tare.analysis.recording import Recording
    from tare.fleet.store import Store

FIGURES = ("peak.gross_bytes", "peak.tare_bytes", "end.gross_bytes")


def against(store: Store, recordings: Sequence[Recording], noise: Noise) -> Iterator[Verdict]:
    """Each figure's limit is the upper end of the interval of the highest quantile that has one, and the headroom. The recordings
    themselves don't count if they are in the store."""
    program = recordings[0].process["program"]
    own = {file_hash(Path(each.path)) for each in recordings}
    entries = [each for each in store.entries if each["program"] == program and each["key"] not in own]
    _require(store, program, len(entries))
    ran = _tare_lenses([lens.name for lens in recordings[0].ledger.lenses])
    for name in FIGURES:
        comparable = [e for e in entries if "tare" not in name or _tare_lenses(e["lenses"]) == ran]
        size = len(comparable)
        highest = [p for p in PROBABILITIES[1:] if size >= least_size(p)]
        if not highest:  # of tare only: recorded with other options
            warn(
                f"{name} isn't compared with the fleet: the same lenses ran over {plural(size, 'recording')} of {program}, and a limit "
                f"needs {least_size(PROBABILITIES[1])}"
            )
            continue
        values = sorted(entry[name.replace(".", "_")] for entry in comparable)
        found = ranks(size, highest[-1])
        upper = values[(found.high or size) - 1]
        actual = min(figure(each, name) for each in recordings)
        limit = allowed(upper, name, noise)
        of = f"{name} against the fleet's {label(highest[-1])} ({size} recordings)"
        yield Verdict(
            of, actual, limit, values[found.middle - 1], _grown(store, recordings[0], name) if actual > limit else ""
        )


def _require(store: Store, program: str, count: int) -> None:
    least = least_size(PROBABILITIES[1])
    if count < least:
        raise TareError(
            USAGE,
            f"check: {store.path} has {plural(count, 'other recording')} of {program}, a limit needs {least}: add more by tare fleet add",
        )


def _tare_lenses(names: Sequence[str]) -> set[str]:
    from tare.lenses import NAMES, load

    return {name for name in names if name in NAMES and load(name).weight == "tare"}


def _grown(store: Store, recording: Recording, name: str) -> str:
    """The site that is furthest above its mean in the fleet."""
    from tare.fleet.facts import facts_of

    column = {
        "peak.gross_bytes": "peak_gross_bytes",
        "peak.tare_bytes": "tare_bytes",
        "end.gross_bytes": "end_gross_bytes",
    }[name]
    index = {"peak_gross_bytes": 2, "end_gross_bytes": 3, "tare_bytes": 5}[column]
    program = recording.process["program"]
    rows = store.rows(
        f"select s.site, sum(s.{column}) / (select count(*) from recordings where program = $1)"
        " from site_sums s join recordings r using (recording) where r.program = $1 group by s.site",
        [program],
    )
    means = dict(rows)
    facts = facts_of(recording)
    names = {row[0]: f"{row[2]} ({row[3]})" if row[3] else row[2] for row in facts.rows["sites"]}
    furthest = max(facts.rows["site_sums"], key=lambda row: row[index] - means.get(row[0], 0.0), default=None)
    return "" if furthest is None else str(names[furthest[0]])
