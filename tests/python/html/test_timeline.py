"""The heap over time: readings of the RSS stand at their times, and every number that is known is in the text."""

from __future__ import annotations

import re

from handmade import Handmade
from tare.html.timeline import chart

_MIB = 1 << 20


def made(peak_rss: int, **process: int) -> Handmade:
    """A heap that grows to 8 MiB in 1 s."""
    made = Handmade(duration_ns=1_000_000_000, peak_time_ns=900_000_000, peak_rss_bytes=peak_rss, **process)
    made.blocks(made.stack("grow@a.c:1", "main@a.c:9"), _MIB - 8, _MIB - 8, total=9, peak=8, end=8)
    for step in range(1, 11):
        live = min(step, 8)
        made.tables["timeline"].append(
            {"time_ns": 100_000_000 * step, "requested_bytes": (_MIB - 8) * live, "usable_bytes": (_MIB - 8) * live,
             "gross_bytes": _MIB * live, "max_gross_bytes": _MIB * live, "blocks": live, "alloc_events": 1, "free_events": 0,
             "mapped_bytes": 0}
        )  # fmt: skip
    return made


def test_readings_of_the_rss_are_marks_at_their_times() -> None:
    """Of the launcher, and of each snapshot; the recorder's memory isn't the program's."""
    here = made(
        16 * _MIB, rss_read_ns=500_000_000, rss_heap_bytes=5 * _MIB, rss_file_bytes=_MIB, rss_recorder_bytes=4 * _MIB
    )
    here.snapshot("request", [])
    here.tables["snapshots"][0]["time_ns"] = 250_000_000
    for kind, size in (("heap", 3 * _MIB), ("stack", _MIB // 2), ("recorder", 9 * _MIB)):
        here.resident(1, kind, size)
    drawn = chart(here.recording())
    assert re.findall(r"<title>(RSS [^<]*)</title>", drawn) == ["RSS 3.50 MiB at 0.25 s", "RSS 6.00 MiB at 0.50 s"]
    (top,) = re.findall(r'y="([\d.]+)" class="level">peak RSS 12.0 MiB', drawn)
    marks = re.findall(r'd="M([\d.]+) ([\d.]+)l5 5', drawn)
    assert [float(x) for x, _ in marks] == [round(76 + 912 * share, 1) for share in (0.25, 0.5)]
    # below the line of the peak by their share of the height: 12 MiB are 164 units high
    assert [round((float(y) + 5 - 22) / 164, 2) for _, y in marks] == [round(1 - size / 12, 2) for size in (3.5, 6)]
    assert float(top) == 17
    assert (
        "RSS without the recorder&#x27;s: 3.50 MiB at 0.25 s, 6.00 MiB at 0.50 s, at most 12.0 MiB, at an unknown time."
        in drawn
    )


def test_an_rss_far_above_the_heap_is_in_the_text_only() -> None:
    drawn = chart(made(100 * _MIB, rss_read_ns=500_000_000, rss_heap_bytes=90 * _MIB).recording())
    assert 'class="reading"' not in drawn and 'class="level"' not in drawn
    assert "90.0 MiB at 0.50 s, at most 100 MiB, at an unknown time. It isn&#x27;t drawn" in drawn


def test_an_unknown_rss_is_said_to_be_unknown() -> None:
    here = made(0)
    assert "The RSS isn&#x27;t known." in chart(here.recording())
