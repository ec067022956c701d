"""The report about a watched process that was killed: by which counters, the heap then, and the sites that had grown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from handmade import Handmade
from tare.analysis import watched
from tare.analysis.recording import Recording
from tare.reports.watched import end
from tare.watch import notes
from tare.watch.notes import Note
from tare.watch.oom import Verdict
from tare.watch.snapshots import name_of

MIB = 1 << 20
SECOND = 10**9
DIED_NS = 1_795_000_000 * SECOND  # 11:06:40 UTC
GROUP = "/sys/fs/cgroup/app"


def note(verdict: Verdict, **changed: Any) -> Note:
    made = Note(
        reason="killed", program="app", pid=7, image="7-a", live_bytes=50.0 * MIB, live_bytes_error=1.5 * MIB, sample_bytes=512 << 10,
        updated_ns=DIED_NS, seen_ns=DIED_NS + SECOND, found_ns=DIED_NS + 6 * SECOND, stopped="", oom=verdict,
    )  # fmt: skip
    return made._replace(**changed)


def final(folder: Path, with_note: Note | None, minutes_later: int = 0) -> Handmade:
    """The final snapshot: 40 MiB of one site and 10 of another."""
    path = folder / name_of("app", "7-a", DIED_NS // 10**6 + 60_000 * minutes_later, "killed", 50 * MIB)
    path.write_text("")
    if with_note is not None:
        (folder / f"{path.name}.note").write_bytes(notes.packed(with_note))
    return blocks(Handmade(str(path), sample_bytes=512 << 10), 40, 10)


def blocks(source: Handmade, leaked: int, cached: int) -> Handmade:
    """MiB in blocks of 1 MiB; each sampled one stands for 2."""
    for count, name, line in ((leaked, "remember", 12), (cached, "cache", 30)):
        site = source.stack(f"{name}@/src/app.c:{line}", "main@/src/app.c:3")
        source.blocks(site, MIB, MIB, total=count, peak=count, end=count)
        source.tables["site_sizes"][-1]["weight"] = 2.0
        source.tables["site_sizes"][-1]["header_bytes"] = 0
    return source


def sentences(folder: Path, made: Note) -> list[str]:
    return end.watched_end(Recording(final(folder, made)))


def test_an_out_of_memory_kill(tmp_path: Path) -> None:
    how, heap = sentences(tmp_path, note(Verdict("yes", GROUP, 2, 3, 1, 64 * MIB), signal=9))
    assert how == (
        "the process was killed by the out-of-memory killer (signal 9 (SIGKILL)): the control group /sys/fs/cgroup/app counted 1 "
        "such kill (2 to 3) between 11:06:41 and 11:06:46 UTC; its memory limit was 64.0 MiB"
    )
    assert heap.startswith("the heap was 50.0 MiB ± 1.50 MiB (one standard error) at 11:06:40 UTC, 6.00 s before")


@pytest.mark.parametrize(
    ("verdict", "begins", "has"),
    [
        (Verdict("likely", GROUP, 2, 3, 2), "the process was probably killed by the out-of-memory killer", "in which 2 watched processes ended"),
        (Verdict("no", GROUP, 2, 2), "the process was killed by a signal or crashed; it was no out-of-memory kill", "counted no such kill (2)"),
        (Verdict("unknown", "", 5, 6), "the process was killed by a signal or crashed; it may have been", "the machine counted 1 such kill"),
        (Verdict("unknown"), "the process was killed by a signal or crashed; whether", "no counter could be read"),
    ],
)  # fmt: skip
def test_other_ends(tmp_path: Path, verdict: Verdict, begins: str, has: str) -> None:
    how = sentences(tmp_path, note(verdict))[0]
    assert how.startswith(begins) and has in how


def test_a_recorder_that_had_stopped_before(tmp_path: Path) -> None:
    """It doesn't delete the file at an exit in order, so that the file shows no kill."""
    made = note(Verdict("no", GROUP, 2, 2), stopped="the file system was full")
    assert sentences(tmp_path, made)[0].startswith(
        "the process has ended, perhaps in order: its recorder had stopped before, because the file system was full; it was no"
    )
    assert sentences(tmp_path, made._replace(oom=Verdict("yes", GROUP, 2, 3)))[0].startswith(
        "the process was killed by the out"
    )
    assert sentences(tmp_path, made._replace(signal=9))[0].startswith("the process was killed by a signal or crashed")


def test_silence_and_an_ordinary_end(tmp_path: Path) -> None:
    (line,) = sentences(tmp_path, note(Verdict("unknown"), reason="silent"))
    assert "may be idle, or it was killed" in line
    assert sentences(tmp_path, note(Verdict("unknown"), reason="ended")) == []
    assert end.watched_end(Recording(final(tmp_path / "..", None))) == []


def test_times_that_no_calendar_has(tmp_path: Path) -> None:
    how, _ = sentences(tmp_path, note(Verdict("yes", GROUP, 2, 3), seen_ns=-(1 << 61), found_ns=1 << 61))
    assert "between" in how


def test_sites_that_had_grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the oldest snapshot of the last hour. Errors: a block of weight 2 has a variance of 1 MiB²."""
    for minutes_before in (90, 50, 10):
        name = name_of("app", "7-a", DIED_NS // 10**6 - 60_000 * minutes_before, "timer", 1)
        (tmp_path / name).write_text("")
    (tmp_path / name_of("app", "8-a", DIED_NS // 10**6 - 55 * 60_000, "timer", 1)).write_text("")
    opened = []

    def earlier(path: str, like: Recording) -> Recording:
        opened.append(Path(path).name)
        return Recording(blocks(Handmade(path, sample_bytes=512 << 10), 10, 9))

    monkeypatch.setattr(watched, "_opened", earlier)
    recording = Recording(final(tmp_path, note(Verdict("yes", GROUP, 2, 3))))
    text = "\n".join(end.growth_lines(recording, 120))
    assert opened == [name_of("app", "7-a", DIED_NS // 10**6 - 60_000 * 50, "timer", 1)]
    assert "growth in the 50 min" in text
    assert "+31.0 MiB ± 8.31 MiB" in text  # sqrt(40 + 10 + 10 + 9) of the whole
    (site,) = [line for line in text.splitlines() if "remember" in line]
    assert site.split()[0] == "+30.0" and "± 7.07 MiB" in site  # sqrt(40 + 10)
    assert "cache" not in text  # +1 MiB with an error of 4.36 MiB
    as_json = end.as_json(recording)
    assert as_json is not None and as_json["out_of_memory"] == "yes"
    assert as_json["growth"]["sites"][0]["grown_bytes"] == 30 * MIB


def test_no_earlier_snapshot(tmp_path: Path) -> None:
    recording = Recording(final(tmp_path, note(Verdict("no", GROUP, 1, 1))))
    assert list(end.growth_lines(recording, 120)) == [
        "growth before the end: unknown, no earlier snapshot of the process is left"
    ]
    as_json = end.as_json(recording)
    assert as_json is not None and as_json["growth"] is None
