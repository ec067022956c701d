"""Limits from a store: the upper end of a quantile's interval, and the site behind a broken one."""

from pathlib import Path

import pytest
from fleet_made import add
from handmade import Handmade
from tare.analysis.budget import Noise
from tare.analysis.recording import Recording
from tare.errors import TareError
from tare.fleet.facts import facts_of
from tare.fleet.limits import against
from tare.fleet.order_statistics import ranks
from tare.fleet.store import Store
from tare.progress import shown_by
from tare.text.terminal import TerminalDisplay

EXACT = Noise(0.0, 0.0, 0.0)


def made(path: Path, blocks: int) -> Recording:
    """A recording with 1,000 bytes a block at `parse`; its file has other contents than others."""
    source = Handmade(str(path))
    source.blocks(source.stack("parse@/src/parse.c:7", "main"), 992, 992, total=blocks, peak=blocks, header=8)
    source.blocks(source.stack("fixed", "main"), 992, 992, total=50, peak=50, header=8)
    path.write_text(f"{blocks}")
    return source.recording()


@pytest.mark.slow
def test_the_limit_is_the_upper_end_of_the_interval(tmp_path: Path) -> None:
    store = tmp_path / "s"
    for number in range(40):
        add(store, f"{number}", facts_of(made(tmp_path / "old", 100 + number)), bucket=0)
    high = ranks(40, 0.9).high
    assert high is not None
    limit = (50 + 100 + high - 1) * 1000.0
    at = made(tmp_path / "at", 100 + high - 1)
    over = made(tmp_path / "over", 100 + high)
    kept, *_ = against(Store(store), [at], EXACT)
    assert (kept.name, kept.actual, kept.limit, kept.kept) == (
        "peak.gross_bytes against the fleet's P90 (40 recordings)", limit, limit, True,
    )  # fmt: skip
    broken, *_ = against(Store(store), [over], EXACT)
    assert not broken.kept
    assert broken.detail == "parse (parse.c:7)"
    assert next(against(Store(store), [over, at], EXACT)).kept  # of several, the smallest counts
    assert next(against(Store(store), [over], Noise(2.0))).kept


def test_a_small_store_is_refused(tmp_path: Path) -> None:
    recording = made(tmp_path / "new", 100)
    add(tmp_path / "s", "a", facts_of(recording))
    with pytest.raises(TareError, match="has 1 other recording of app, a limit needs 36"):
        list(against(Store(tmp_path / "s"), [recording], EXACT))


@pytest.mark.slow
def test_a_recording_is_not_its_own_limit(tmp_path: Path) -> None:
    from tare.fleet.layout import file_hash

    recording = made(tmp_path / "new", 1000)
    for number in range(36):
        add(tmp_path / "s", f"{number}", facts_of(made(tmp_path / "old", 100)), bucket=0)
    add(tmp_path / "s", file_hash(tmp_path / "new"), facts_of(recording), bucket=0)
    verdict = next(against(Store(tmp_path / "s"), [recording], EXACT))
    assert verdict.name.endswith("(36 recordings)")
    assert not verdict.kept


@pytest.mark.slow
def test_tare_that_no_recording_of_the_store_can_limit_warns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(36):
        facts = facts_of(made(tmp_path / "old", 100))
        facts.totals["lenses"] = [name for name in facts.totals["lenses"] if name != "headers"]
        add(tmp_path / "s", f"{number}", facts, bucket=0)
    with shown_by(TerminalDisplay()):
        verdicts = list(against(Store(tmp_path / "s"), [made(tmp_path / "new", 100)], EXACT))
    assert not [verdict for verdict in verdicts if "tare" in verdict.name]
    assert (
        "peak.tare_bytes isn't compared with the fleet: the same lenses ran over 0 recordings of app"
        in capsys.readouterr().err
    )
