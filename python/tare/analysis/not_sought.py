"""Lenses that a report didn't run, and the option with which each would run: silence about them must not be read as absence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare import lenses

if TYPE_CHECKING:
    from tare.analysis.recording import Recording


def not_sought(recording: Recording) -> dict[str, list[str]]:
    """Lenses by the way to run them: an option, or another recording."""
    ran = {lens.name for lens in recording.ledger.lenses}
    ways: dict[str, list[str]] = {}
    for name in lenses.NAMES:
        if name not in ran:
            ways.setdefault(_way(recording, name), []).append(name)
    return ways


def _way(recording: Recording, name: str) -> str:
    process = recording.process
    by_name = not lenses.is_in_reports(name, process)
    if by_name and not process["sample_bytes"] and not process["missing_facts"]:
        return "tare report --lens"  # without loading it: the summary of a run has to be quick
    lens = lenses.load(name)
    if lenses.lacking_facts(lens, process):
        return "tare run instead of an import"
    if lens.sampling == "unavailable" and process["sample_bytes"]:
        return "tare run without --sample"
    if lens.needs == "contents" and not process["contents_recorded"]:
        return "tare run --content"
    if lens.needs == "snapshots" and not process["snapshots"]:
        return "tare run --content or --snapshots"
    return "tare report --lens" if by_name else "tare report"
