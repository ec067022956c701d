"""Differences: signed, by lens and by site, matched by names and not by ids or addresses."""

from __future__ import annotations

import io

from handmade import Handmade, names_that_need
from tare.analysis.difference import between
from tare.reports import difference
from tare.text.terminal import Style


def program(order: tuple[str, ...], **peaks: int) -> Handmade:
    made = Handmade()
    for name in order:
        if name in peaks:
            made.blocks(made.stack(name, "main"), 1032, 2040, total=10 * peaks[name], peak=peaks[name])
    made.size_class(1032, 2040, 1016, clownshoe=1)
    return made


def text(before: Handmade, after: Handmade, width: int = 100) -> str:
    change = between(before.recording(), after.recording())
    return "\n".join(difference.lines(change, 10, Style(io.StringIO()), width))


def test_the_same_twice_is_no_change() -> None:
    assert "(no change)" in text(program(("f", "g"), f=5, g=7), program(("g", "f"), f=5, g=7)).splitlines()


def test_sites_match_by_name_whatever_their_ids() -> None:
    change = between(program(("f", "g"), f=5, g=7).recording(), program(("g", "f"), f=6, g=7).recording())
    (site,) = change.sites
    assert site.stack[0].function == "f"
    assert site.gross_change == 2048
    assert site.lenses["slop"] == 1008
    assert change.moments["peak"]["tare_bytes"] == (12 * 1016.0, 13 * 1016.0)


def test_signs_new_and_gone() -> None:
    report = text(program(("f", "g"), f=5), program(("f", "g"), g=3))
    assert "-10.0 KiB at the peak (gone), -5 blocks, -50 calls" in report
    assert "+6.00 KiB at the peak (new), +3 blocks, +30 calls" in report
    assert "slop: peak" in report and "-2,016" in report


def test_json_has_before_after_and_change() -> None:
    change = between(program(("f",), f=5).recording(), program(("f",), f=4).recording())
    got = difference.as_json(change)
    assert got["peak"]["gross_bytes"] == {"before": 10240, "after": 8192, "change": -2048}
    assert got["lenses"]["slop"]["bytes_peak"]["change"] == -1008
    assert got["sites"][0]["stack"][0]["function"] == "f"
    assert got["lenses_run"][0] == "slop"


def looked_into(seen: int) -> Handmade:
    made = program(("f",), f=100)
    made.snapshot("peak", [(0, 0x10000 + 2048 * i, {"digest": i}) for i in range(seen)])
    return made


def test_different_snapshots_are_stated() -> None:
    said = " ".join(text(looked_into(90), looked_into(9)).split())
    assert (
        "different snapshots: before a snapshot with 90.0% of the peak, after a snapshot with 9.0% of the peak" in said
    )
    assert f"changes of {', '.join(names_that_need('snapshots'))} may" in said
    assert "different snapshots" not in text(looked_into(90), looked_into(88))
    change = between(looked_into(90).recording(), looked_into(9).recording())
    assert len(difference.as_json(change)["notes"]) == 1


def test_the_width_is_kept() -> None:
    before, after = program(("f", "g"), f=5), program(("f", "g"), f=5_000_000, g=3)
    after.nameless = [("/" + "long/" * 30 + "app", "replaced")]
    for width in (40, 60, 91, 92, 120):
        assert all(len(line) <= width for line in text(before, after, width).splitlines())
    assert "peak: gross\n  10.0 KiB -> 9.54 GiB  x1,000,001" in text(before, after, 40)
    assert "note: no names for functions in /long/" in text(before, after)


def imported(profiler: str, missing_facts: str) -> Handmade:
    made = Handmade(imported_from=profiler, missing_facts=missing_facts)
    made.blocks(made.stack("f", "main"), 1032, 1032, total=50, peak=5)
    return made


def test_facts_that_imported_files_lack_are_stated() -> None:
    dhat = imported("DHAT", "usable")
    notes = difference.as_json(between(dhat.recording(), program(("f",), f=5).recording()))["notes"]
    assert notes[0].startswith("before, imported from DHAT: the file has no usable sizes")
    assert notes[1] == "gross before is requested bytes only: compare the requested bytes of the two"
    assert len(notes) == 2
    notes = difference.as_json(between(dhat.recording(), imported("DHAT", "usable").recording()))["notes"]
    assert [note.split(":")[0] for note in notes] == ["before and after, imported from DHAT"]
    notes = difference.as_json(between(dhat.recording(), imported("massif", "usable,peak").recording()))["notes"]
    assert [note.split(":")[0] for note in notes] == [
        "before, imported from DHAT",
        *["after, imported from massif"] * 2,
    ]
    assert (
        difference.as_json(between(program(("f",), f=5).recording(), program(("f",), f=5).recording()))["notes"] == []
    )


def test_lenses_without_bytes_have_one_line() -> None:
    report = text(program(("f",), f=5), program(("f",), f=6))
    (line,) = [line for line in report.splitlines() if line.startswith("nothing before or after: ")]
    assert "growth" in line and "slop" not in line
    assert "slop: peak" in report and "growth: " not in report


def test_lenses_of_one_recording_only_are_named() -> None:
    change = between(program(("f",), f=100).recording(), looked_into(100).recording())
    (note,) = (note for note in difference.as_json(change)["notes"] if "not compared" in note)
    assert "leaks, duplicates, wide-pointers, hoards" in note
    assert "not compared" not in text(looked_into(100), looked_into(100))


def test_the_error_of_a_sample_is_stated() -> None:
    sample = Handmade(sample_bytes=524_288)
    sample.blocks(sample.stack("f", "main"), 1032, 2040, total=1000, peak=1000, weight=10.0)
    said = " ".join(text(program(("f",), f=1000), sample).split())
    assert "standard error is 0.0% before and 9.5% after" in said
