"""A store's sums of a recording equal those of the recording's own report."""

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis.ledger import Ledger
from tare.analysis.recording import Recording
from tare.fleet.facts import facts_of, site_number
from tare.lenses import NAMES


def test_sums_and_claims_are_the_reports(busy: Handmade) -> None:
    recording = busy.recording()
    facts = facts_of(recording)
    gross = recording.moments["peak"].gross_bytes
    assert facts.totals["peak_gross_bytes"] == gross == sum(row[2] for row in facts.rows["site_sums"])
    tare = {lens.name for lens in recording.ledger.lenses if lens.weight == "tare"}
    assert facts.totals["peak_tare_bytes"] == round(sum(row[2] for row in facts.rows["claims"] if row[0] in tare))
    shown = {
        (lens.name, round(f.bytes_peak or 0)) for lens in recording.ledger.lenses for f in recording.findings(lens)
    }
    assert shown
    assert {(row[0], round(row[2])) for row in facts.rows["claims"] if row[-1]} == shown
    assert set(facts.totals["lenses"]) <= set(NAMES)


def test_a_site_has_the_same_number_in_every_recording() -> None:
    numbers = []
    for first in ("other", "unused"):
        made = Handmade()
        made.blocks(made.stack(first, "main"), 8, 24, total=1, peak=1)
        made.blocks(
            made.stack("parse@/a.c:7" if first == "other" else "parse@/b/a.c:90", "main"), 100, 104, total=1, peak=1
        )
        numbers.append({row[0] for row in facts_of(made.recording()).rows["sites"]})
    assert numbers[0] & numbers[1] == {site_number(("parse", "main"))}


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_claims_of_sites_are_those_of_the_findings(name: str, sampled: bool, looked_into: Handmade) -> None:
    ledger = Ledger(Recording(looked_into.with_contents()).database, NAMES, sampled=sampled)
    lens = lenses.load(name)
    findings = ledger.findings(lens, all_claims="all")
    assert findings
    assert sorted(ledger.site_claims(lens)) == sorted(
        (f.site_id, f.bytes_peak, f.bytes_end, f.bytes_total, f.calls, f.shown) for f in findings
    )
