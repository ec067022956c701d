"""Tables of a running recording, and their changes since the reading before."""

from __future__ import annotations

import os
import sys

import pytest
from handmade import Handmade
from tare.errors import CANNOT_RECORD, TareError
from tare.live import launcher_requests
from tare.live.live_figures import Figures, FiguresReader, Judge
from tare.reports import live_view
from tare.text.terminal import Style


def tables(*, after: bool = False) -> Handmade:
    """A cache that grows from 100 to 300 blocks, and a parser whose 5,000 blocks become 15,000 that are gone at once."""
    duration_ns = 3_000_000_000 if after else 2_000_000_000
    made = Handmade(depth=1, duration_ns=duration_ns)
    cache = 300 if after else 100
    made.blocks(made.stack("fill_cache@cache.c:7", "main"), 1000, 1000, total=cache, peak=cache, end=cache)
    parsed = 15_000 if after else 5_000
    made.blocks(made.stack("parse@parse.c:9", "main"), 20, 24, total=parsed, freed_within_16=parsed, freed_later=0)
    return made


def named(figures: Figures) -> dict[str, live_view.Site]:
    return {site.frame.function: site for site in figures.sites}


def test_the_first_reading_is_about_the_whole_recording() -> None:
    figures = Judge().read(tables())
    assert figures.since_ns == 2_000_000_000
    assert figures.allocations_per_s == pytest.approx(5100 / 2)
    assert figures.frees_per_s == pytest.approx(5000 / 2)
    assert figures.bytes_per_s == pytest.approx((100 * 1000 + 5000 * 20) / 2)
    cache = named(figures)["fill_cache"]
    assert (cache.blocks, cache.gross_bytes, cache.slop_bytes, cache.calls) == (100, 100 * 1008, 0, 100)
    assert cache.gross_change == cache.gross_bytes


def test_later_readings_are_about_what_came_since() -> None:
    judge = Judge()
    judge.read(tables())
    figures = judge.read(tables(after=True))
    assert figures.since_ns == 1_000_000_000
    assert figures.allocations_per_s == pytest.approx(10_200)
    assert figures.frees_per_s == pytest.approx(10_000)
    sites = named(figures)
    assert sites["fill_cache"].gross_change == 200 * 1008
    assert sites["parse"].calls_per_s == pytest.approx(10_000)
    assert sites["parse"].gross_change == 0
    assert [live_view.sorted_sites(figures, order, 1)[0].frame.function for order in ("live", "change", "rate")] == [
        "fill_cache",
        "fill_cache",
        "parse",
    ]


def test_another_image_of_the_process_begins_anew() -> None:
    judge = Judge()
    judge.read(tables())
    other = tables(after=True)
    other._process["image_index"] = 1
    assert judge.read(other).since_ns == 3_000_000_000


def test_what_lenses_find_on_the_way_is_shown() -> None:
    figures = Judge().read(tables())
    found = {each.lens.name: each for each in figures.found}
    assert found["churn"].frame.function == "parse"
    assert found["churn"].finding.calls == 5000
    assert "hoards" not in found, "needs snapshots"


@pytest.mark.parametrize("width", [40, 80, 132])
def test_text_fits_the_width(width: int) -> None:
    lines = list(live_view.lines(Judge().read(tables()), "live", 12, Style(sys.stdout), width))
    assert max(map(len, lines)) <= width
    assert any("fill_cache" in line for line in lines)


def test_json_has_whole_numbers_and_the_rates() -> None:
    judge = Judge()
    judge.read(tables())
    told = live_view.as_json(judge.read(tables(after=True)), "rate", 1)
    assert told["live"] == {
        "blocks": 300,
        "requested_bytes": 300_000,
        "usable_bytes": 300_000,
        "gross_bytes": 302_400,
        "slop_bytes": 0,
    }
    (site,) = told["sites"]
    assert (site["function"], site["line"], site["calls"]) == ("parse", 9, 15_000)
    assert site["calls_per_second"] == pytest.approx(10_000)
    assert "churn" in {finding["lens"] for finding in told["findings"]}


@pytest.mark.parametrize("is_over", [True, False])
def test_a_launcher_that_completes_its_trace_has_no_more_figures(
    monkeypatch: pytest.MonkeyPatch, *, is_over: bool
) -> None:
    """Its process lives for a while, and the reading that it refuses isn't a failure."""
    error = launcher_requests.RecordingOverError if is_over else TareError

    def ask(*_: object) -> str:
        raise error(CANNOT_RECORD, "refused")

    monkeypatch.setattr(launcher_requests, "find_launched", lambda pid: (launcher_requests.Recorded(pid, "/"), ""))
    monkeypatch.setattr(launcher_requests, "ask", ask)
    reader = FiguresReader(os.getpid())
    with pytest.raises(TareError, match="refused"):
        reader.read()
    assert reader.is_over() == is_over
