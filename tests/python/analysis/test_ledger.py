"""The ledger grants each byte once, in order, and never more than there is."""

from __future__ import annotations

import random

import pytest
from handmade import Handmade
from tare import lenses
from tare.analysis.ledger import Ledger
from tare.analysis.recording import Recording
from tare.lenses.lens import Advice, Lens
from tare.lenses.saving import Saving
from tare.source.database import Database, TableStore
from tare.source.small_database import SmallDatabase


def test_gross_is_net_plus_tare(busy: Handmade) -> None:
    recording = busy.recording()
    for name in ("peak", "end"):
        moment = recording.moments[name]
        assert moment.tare_bytes is not None and moment.net_bytes is not None
        assert moment.gross_bytes == moment.net_bytes + moment.tare_bytes
        # with slop and headers alone, net is exactly what was asked for
        assert moment.net_bytes == moment.requested_bytes
    assert recording.moments["total"].tare_bytes is None


def _lens(name: str, share: float) -> Lens:
    """Claims a share of every block's gross bytes."""
    each = f"{share} * (usable_bytes + header_bytes)"
    return Lens(
        name=name, question="", why="", threshold="", false_positives="", remedy="", weight="tare", sampling="scaled",
        tables=("site_sizes",), evidence={}, shown="true", order="bytes_peak", unit="bytes", advise=lambda _: Advice("", "low"), saves=lambda _: Saving("a type"),
        claims=f"select size_id, stack_id, peak_blocks as blocks, {each} * peak_blocks as bytes_peak, {each} * end_blocks as bytes_end,"
        f" {each} * total_blocks as bytes_total, {share} * byte_ns as byte_ns, total_blocks as calls from site_sizes",
    )  # fmt: skip


def test_greedy_lenses_share_what_there_is(made: Handmade, monkeypatch: pytest.MonkeyPatch) -> None:
    made.blocks(made.stack("f"), 92, 92, total=10, peak=10, end=4)  # 100 gross bytes a block
    by_name = {"first": _lens("first", 0.7), "second": _lens("second", 0.7), "third": _lens("third", 0.7)}
    monkeypatch.setattr(lenses, "NAMES", tuple(by_name))
    monkeypatch.setattr(lenses, "load", by_name.__getitem__)
    ledger = Ledger(made.recording().database, tuple(by_name))
    granted = {total.lens: (total.bytes_peak, total.bytes_end) for total in ledger.lens_totals()}
    assert granted == {"first": (700, 280), "second": (300, 120), "third": (0, 0)}
    assert ledger.tare_bytes() == (1000, 400)
    shown = [finding.bytes_peak for lens in ledger.lenses for finding in ledger.findings(lens)]
    assert shown == [700, 300, 0]


@pytest.mark.parametrize("seed", range(12))
def test_random_claims_never_get_more_than_there_is(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    made = Handmade()
    for number in range(40):
        requested = chance.randrange(1, 5000)
        usable = requested + chance.randrange(0, 64)
        peak, end = chance.randrange(0, 50), chance.randrange(0, 50)
        stack = made.stack(f"f{number % 7}", "main")
        made.blocks(stack, requested, usable, total=peak + end, peak=peak, end=end, header=chance.choice((0, 8, 16)))
    by_name = {name: _lens(name, chance.choice((0.0, 0.1, 0.37, 0.5, 0.9, 1.0, 3.0))) for name in "abcde"}
    order = chance.sample(list(by_name), chance.randrange(1, 6))
    monkeypatch.setattr(lenses, "NAMES", tuple(order))
    monkeypatch.setattr(lenses, "load", by_name.__getitem__)
    recording = made.recording()
    ledger = recording.ledger
    left = {"peak": recording.moments["peak"].gross_bytes, "end": recording.moments["end"].gross_bytes}
    gross = dict(left)
    for lens, totals in zip(ledger.lenses, ledger.lens_totals(), strict=True):
        share = float(lens.claims.split(" * ")[0].rpartition(" ")[2])
        for moment, granted in (("peak", totals.bytes_peak), ("end", totals.bytes_end)):
            # each claims the same share of every block: it gets that, or what those before it left
            assert granted == pytest.approx(min(share * gross[moment], left[moment]), abs=1e-6)
            left[moment] -= granted
    for name in ("peak", "end"):
        moment_now = recording.moments[name]
        assert moment_now.net_bytes is not None and moment_now.tare_bytes is not None
        assert moment_now.gross_bytes == moment_now.net_bytes + moment_now.tare_bytes
        assert moment_now.net_bytes >= 0
        assert moment_now.net_bytes == pytest.approx(left[name], abs=1)


def test_thresholds_change_what_is_shown_and_not_the_net(busy: Handmade) -> None:
    ledger = busy.recording().ledger
    slop = next(lens for lens in ledger.lenses if lens.name == "slop")
    shown = ledger.findings(slop)
    everything = ledger.findings(slop, all_claims="all")
    assert len(shown) < len(everything)
    assert (
        sum(f.bytes_peak or 0 for f in everything)
        == next(t for t in ledger.lens_totals() if t.lens == "slop").bytes_peak
    )


def test_sites_merge_by_the_line_that_names_them(made: Handmade) -> None:
    for caller in ("a", "b", "c"):
        made.blocks(made.stack("grow", caller, "main"), 1032, 2040, total=10, peak=10)
    made.size_class(1032, 2040, 1016, clownshoe=1)
    ledger = made.recording().ledger
    slop = ledger.lenses[0]
    assert [f.sites for f in ledger.findings(slop)] == [1, 1, 1]
    (merged,) = ledger.findings(slop, by="site_location_id")
    assert (merged.sites, merged.bytes_peak, merged.blocks) == (3, 3 * 10 * 1008, 30)


def test_an_empty_recording_has_no_findings(made: Handmade) -> None:
    recording = made.recording()
    assert recording.moments["peak"].tare_bytes == 0
    assert [recording.ledger.findings(lens) for lens in recording.ledger.lenses] == [[]] * len(recording.ledger.lenses)


@pytest.mark.parametrize("engine", [Database, SmallDatabase])
def test_findings_that_read_the_same_are_one(made: Handmade, engine: type[TableStore]) -> None:
    # copies of a function that was inlined: two return addresses, one line
    for place, peak in (("tree.c:9", 20_000), ("list.c:4", 25_000), ("tree.c:09", 10_000)):
        made.blocks(made.stack(f"new_node@/src/{place}", "main@/src/main.c:6"), 24, 24, total=30_000, peak=peak)
    nameless = made.stack("?", "main@/src/main.c:7"), made.stack("?2", "main@/src/main.c:8")
    for stack in nameless:
        made.blocks(stack, 24, 24, total=20_000, peak=5_000)
    recording = Recording(made, None, engine)
    headers = next(lens for lens in recording.ledger.lenses if lens.name == "headers")
    found = recording.findings(headers, by="site_location_id")
    assert [finding.blocks for finding in found] == [30_000, 25_000, 5_000, 5_000]
    assert [finding.sites for finding in found] == [2, 1, 1, 1]
    assert [frame.place for frame in recording.finding_frames(found)][:2] == ["tree.c:9", "list.c:4"]
    assert sum(finding.bytes_peak or 0 for finding in found) == recording.ledger.tare_totals[-1].bytes_peak
    assert len(recording.findings(headers)) == 5  # a site each
