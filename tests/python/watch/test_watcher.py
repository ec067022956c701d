"""Rounds of the watcher: when it takes snapshots, what it does about ended processes, and hostile files."""

from __future__ import annotations

import errno
import json
import os
import tracemalloc
from pathlib import Path

import pytest
from machine import MIB, Machine, write_trace
from tare.errors import IO, TareError
from tare.watch import notes, reader
from tare.watch.folder import MOST_FILES, Folder
from tare.watch.snapshots import Limits
from tare.watch.triggers import Conditions


def note_of(machine: Machine) -> notes.Note:
    (name,) = (name for name in machine.names() if ".killed." in name)
    found = notes.beside(str(machine.folder / "snapshots" / name))
    assert found is not None
    return found


def test_a_snapshot_is_taken_every_minute_if_the_heap_was_used(machine: Machine) -> None:
    machine.start(7)
    watcher = machine.watcher(every_s=60.0)
    for step in range(37):  # of 5 s: at 0, 60, 120 and 180 s
        if step < 25:
            machine.write(7, (1 + step) * MIB)
        watcher.round()
        machine.clock.now_s += 5.0
    assert machine.reasons() == ["timer"] * 3  # nothing was allocated between 120 and 180 s
    assert machine.lines == []


def test_a_killed_process_gets_a_final_snapshot_and_its_file_goes(machine: Machine) -> None:
    machine.start(7)
    path = machine.write(7, 5 * MIB)
    watcher = machine.watcher()
    watcher.round()
    machine.end(7)
    machine.clock.now_s += 5.0
    watcher.round()
    assert machine.reasons() == ["timer", "killed"]
    assert not path.exists()
    note = note_of(machine)
    assert (note.reason, note.pid, note.live_bytes, note.live_bytes_error) == ("killed", 7, 5 * MIB, 0.1 * MIB)
    assert note.found_ns - note.seen_ns == 5 * 10**9
    assert note.oom.verdict == "no"  # the machine's counter of kills stayed
    (line,) = machine.lines
    assert line.startswith("redis-server (process 7) was killed or crashed: see `tare report ")
    watcher.round()
    assert len(machine.names()) == 2


@pytest.mark.parametrize("restarted", [False, True])
def test_an_out_of_memory_kill_is_found_also_by_a_restarted_watcher(machine: Machine, restarted: bool) -> None:
    machine.group("app", oom_kills=2, limit="67108864")
    machine.start(7, group="app")
    machine.write(7, 50 * MIB)
    watcher = machine.watcher()
    watcher.round()
    machine.end(7)
    machine.group("app", oom_kills=3, limit="67108864")
    if restarted:
        watcher = machine.watcher()
    watcher.round()
    verdict = note_of(machine).oom
    assert verdict == ("yes", "/sys/fs/cgroup/app", 2, 3, 1, 64 * MIB)
    assert "was killed by the out-of-memory killer" in machine.lines[-1]


@pytest.mark.parametrize("how", ["SigPnd", "ShdPnd", "flags"])
def test_a_process_that_is_still_dying_has_no_counters(machine: Machine, how: str) -> None:
    """The counter of its own kill must not become the one from before."""
    machine.group("app", oom_kills=2)
    machine.start(7, group="app")
    machine.write(7)
    watcher = machine.watcher()
    watcher.round()
    machine.group("app", oom_kills=3)
    stat, status = machine.proc / "7/stat", machine.proc / "7/status"
    if how == "flags":
        words = stat.read_text().split(" ")
        words[words.index("S") + 6] = "4194564"  # PF_EXITING among others
        stat.write_text(" ".join(words))
    else:
        status.write_text(status.read_text().replace(f"{how}:\t0000000000000000", f"{how}:\t0000000000000100"))
    watcher.round()
    machine.end(7)
    watcher.round()
    assert note_of(machine).oom[:4] == ("yes", "/sys/fs/cgroup/app", 2, 3)


def test_another_kill_of_the_group_is_no_kill_of_this_process(machine: Machine) -> None:
    machine.group("app", oom_kills=2)
    machine.start(7, group="app")
    machine.write(7)
    watcher = machine.watcher()
    watcher.round()
    machine.group("app", oom_kills=3)
    watcher.round()
    machine.end(7)
    watcher.round()
    assert note_of(machine).oom[:4] == ("no", "/sys/fs/cgroup/app", 3, 3)


def test_two_deaths_and_one_kill_are_likely(machine: Machine) -> None:
    machine.group("app")
    for pid in (7, 8):
        machine.start(pid, group="app")
        machine.write(pid)
    watcher = machine.watcher()
    watcher.round()
    machine.group("app", oom_kills=1)
    machine.end(7)
    machine.end(8)
    watcher.round()
    killed = [name for name in machine.names() if ".killed." in name]
    found = [notes.beside(str(machine.folder / "snapshots" / name)) for name in killed]
    assert [note and (note.oom.verdict, note.oom.deaths) for note in found] == [("likely", 2)] * 2


def test_a_reboot_leaves_no_claim_about_kills(machine: Machine) -> None:
    machine.start(7)
    machine.write(7)
    machine.watcher().round()
    (machine.proc / "sys/kernel/random/boot_id").write_text("another\n")
    machine.watcher().round()
    assert note_of(machine).oom.verdict == "unknown"


def test_a_kept_file_of_an_ended_process_stays_with_one_snapshot(machine: Machine) -> None:
    machine.start(7)
    watcher = machine.watcher()
    path = machine.write(7, ended=True)
    machine.end(7)
    for _ in range(3):
        watcher.round()
        machine.clock.now_s += 100.0
    machine.watcher().round()
    assert machine.reasons() == ["ended"]
    assert path.exists()
    assert watcher.living == 0


def test_a_watcher_killed_before_it_deleted_the_file_makes_no_second_snapshot(machine: Machine) -> None:
    machine.start(7)
    machine.write(7)
    watcher = machine.watcher()
    watcher.round()
    machine.end(7)
    watcher.round()
    machine.write(7)  # as if the deletion had not come
    machine.clock.now_s += 1.0
    again = machine.watcher()
    again.round()
    assert machine.reasons() == ["timer", "killed"]
    assert not list(machine.folder.glob("*.watch"))


def test_a_hidden_process_is_only_silent_and_goes_on(machine: Machine) -> None:
    machine.write(7, MIB)
    watcher = machine.watcher(dead_after_s=900.0)
    watcher.round()
    machine.clock.now_s += 901.0
    watcher.round()
    watcher.round()
    assert machine.reasons() == ["timer", "silent"]
    assert watcher.living == 0
    machine.write(7, 2 * MIB)
    watcher.round()
    assert watcher.living == 1
    assert machine.reasons() == ["timer", "silent", "timer"]
    assert (machine.folder / "7.0.watch").exists()


def test_own_processes_are_visible_while_they_live(machine: Machine) -> None:
    machine.write(7, began_ns=machine.clock.realtime_ns() + 1)
    machine.watcher(own_since_ns=machine.clock.realtime_ns()).round()
    assert machine.reasons() == ["killed"]


def test_a_corrupt_file_costs_one_line_until_it_changes(machine: Machine) -> None:
    bad = machine.folder / "9.0.watch"
    bad.write_text("garbage")
    watcher = machine.watcher()
    for _ in range(5):
        watcher.round()
        machine.clock.now_s += 4000.0  # a line is repeated at most once an hour
    assert machine.lines == [f"{machine.folder}/9.0.watch: no watched file"]
    assert watcher.failures == 1
    machine.start(9)
    machine.write(9)
    watcher.round()
    assert machine.reasons() == ["timer"]


def test_a_file_that_cannot_become_a_recording_is_not_tried_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    def fails(path: str, out: str, shown: str) -> None:
        nonlocal tries
        tries += 1
        raise TareError("Corrupt", f"{shown}: damaged row")

    machine.write(7, boot_id="earlier")
    watcher = machine.watcher()
    monkeypatch.setattr(reader, "write_trace", fails)
    for _ in range(5):
        watcher.round()
        machine.clock.now_s += 100.0
    assert tries == 1
    assert (machine.folder / "7.0.watch").exists()
    monkeypatch.setattr(reader, "write_trace", write_trace)
    machine.watcher().round()
    assert machine.reasons() == ["killed"]


def test_links_and_special_files_are_not_opened(machine: Machine, tmp_path: Path) -> None:
    machine.start(7)
    secret = tmp_path / "secret"
    machine.write(7).rename(secret)
    (machine.folder / "7.0.watch").symlink_to(secret)
    os.mkfifo(machine.folder / "8.0.watch")
    (machine.folder / "9.0.watch").mkdir()
    (machine.folder / "10.0.watch").write_bytes(b"")
    os.truncate(machine.folder / "10.0.watch", 1 << 30)
    watcher = machine.watcher()
    watcher.round()
    assert machine.names() == [] and machine.lines == []
    with pytest.raises(TareError, match="Too many levels"), watcher.folder.opened("7.0.watch"):
        pass
    with pytest.raises(TareError, match="isn't a file of its folder's owner"), watcher.folder.opened("8.0.watch"):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_files_and_folders_of_other_users(machine: Machine) -> None:
    machine.start(7)
    os.chown(machine.write(7), 4242, 4242)
    watcher = machine.watcher()
    watcher.round()
    assert machine.names() == []
    os.chown(machine.folder, 4242, 4242)
    machine.clock.now_s += 60.0
    machine.watcher().round()
    assert machine.reasons() == ["timer"]  # root watches the folder of a user
    os.chown(machine.folder / "snapshots", 77, 77)
    with pytest.raises(TareError, match="snapshots belongs to another user"):
        machine.watcher()


def test_a_folder_of_another_user_is_refused(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = machine.folder.stat().st_uid
    if owner == 0:
        owner = 4242
        os.chown(machine.folder, owner, owner)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(TareError, match=f"belongs to another user: watch it as user {owner} or as root"):
        Folder(str(machine.folder))


def test_unfinished_files_of_killed_recorders_go_after_an_hour(machine: Machine) -> None:
    now_s = machine.clock.realtime_ns() / 1e9
    for name, age_s in ((".7.123.tmp", 3601), (".8.123.tmp", 3500), (".tmp", 9999), ("7.123.tmp", 9999)):
        (machine.folder / name).write_text("")
        os.utime(machine.folder / name, (now_s - age_s, now_s - age_s))
    machine.watcher()
    left = {path.name for path in machine.folder.iterdir()} - {"snapshots"}
    assert left == {".8.123.tmp", ".tmp", "7.123.tmp"}


def test_a_link_in_place_of_the_snapshots_is_refused(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (machine.folder / "snapshots").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TareError, match="snapshots: Not a directory"):
        machine.watcher()


def test_the_second_watcher_is_refused(machine: Machine) -> None:
    first, second = Folder(str(machine.folder)), Folder(str(machine.folder))
    assert first.lock() == 0
    assert second.lock() == os.getpid()
    first.close()
    assert second.lock() == 0


def test_a_full_disk_is_stated_once_and_spares_the_history(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.start(7)
    watcher = machine.watcher(every_s=1.0)
    for step in range(40):
        machine.write(7, (1 + step) * MIB)
        watcher.round()
        machine.clock.now_s += 1.0

    def full(path: str, out: str, shown: str) -> None:
        raise TareError(IO, f"{out}: {os.strerror(errno.ENOSPC)}")

    monkeypatch.setattr(reader, "write_trace", full)
    for step in range(100):
        machine.write(7, (100 + step) * MIB)
        watcher.round()
        machine.clock.now_s += 1.0
    assert len(machine.names()) == 40 - 16
    (line,) = machine.lines
    assert "No space left on device" in line and "free some" in line


def test_triggers_take_a_snapshot_with_their_name(machine: Machine) -> None:
    machine.group("app", pressure="0.00")
    machine.start(7, group="app", rss_pages=1 << 20)
    machine.write(7, 300 * MIB)
    watcher = machine.watcher(
        conditions=Conditions(rss_bytes=1 << 30, heap_bytes=1 << 30, pressure_percent=10.0, at_limit=True)
    )
    watcher.round()
    machine.group("app", pressure="50.00", high=3)
    machine.clock.now_s += 5.0
    watcher.round()
    assert machine.reasons() == ["rss", "limit", "pressure"] or machine.reasons() == ["rss", "pressure", "limit"]
    assert watcher.triggers.fired == {"rss": 1, "pressure": 1, "limit": 1}


def test_requests_are_of_all_or_of_one(machine: Machine) -> None:
    for pid in (7, 8):
        machine.start(pid)
        machine.write(pid)
    watcher = machine.watcher()
    assert [name.split(".")[1].split("-")[0] for name in watcher.request("http", 8)] == ["8"]
    assert len(watcher.request("signal")) == 2
    assert watcher.request("http", 99) == []


def test_a_jumping_clock_changes_no_interval(machine: Machine) -> None:
    machine.start(7)
    watcher = machine.watcher(every_s=60.0)
    for step, jump_s in enumerate([0, 10**8, -2 * 10**8, 10**8]):
        machine.clock.jumped_ns += jump_s * 10**9
        for _ in range(6):
            machine.write(7, (1 + step) * MIB + machine.clock.now_s)
            watcher.round()
            machine.clock.now_s += 10.0
    assert len(machine.names()) == 4
    assert machine.lines == []


def test_only_so_many_files_are_read(machine: Machine) -> None:
    for number in range(MOST_FILES + 5):
        (machine.folder / f"{number + 1}.0.watch").write_bytes(b"")
    entries, has_more = Folder(str(machine.folder)).watched()
    assert (len(entries), has_more) == (MOST_FILES, True)


def test_hundreds_of_processes_cost_so_many_reads(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    real = reader.facts_of

    def counted(path: str, shown: str) -> reader.Facts:
        nonlocal reads
        reads += 1
        return real(path, shown)

    monkeypatch.setattr(reader, "facts_of", counted)
    for pid in range(100, 500):
        machine.start(pid)
        machine.write(pid)
    watcher = machine.watcher()
    for _ in range(3):
        watcher.round()
    assert reads == 3 * 400
    assert len(machine.names()) == 400


def test_ten_thousand_rounds_need_no_more_memory(machine: Machine) -> None:
    """Processes come, grow, are killed and leave damaged files; all that the watcher holds is bounded."""
    watcher = machine.watcher(
        every_s=100.0,
        limits=Limits(20, 1 << 30),
        conditions=Conditions(heap_bytes=1, growth_bytes=MIB, growth_s=600.0, at_limit=True),
    )
    tracemalloc.start()
    try:
        for step in range(10_000):
            pid = 100 + step // 50 % 1000
            if step % 50 == 0:
                machine.start(pid)
                machine.write(pid, MIB + step, began_ns=machine.clock.realtime_ns())
                (machine.folder / f"{50_000 + step}.0.watch").write_text("garbage")
            if step % 50 == 49:
                machine.end(pid)
                (machine.folder / f"{50_000 + step - 49}.0.watch").unlink()
            watcher.round()
            machine.clock.now_s += 5.0
            if step == 1999:
                tracemalloc.clear_traces()
        # pathlib interns the parts of paths: the interpreter's table of them may double once, depending on the tests before.
        made = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, "*/pathlib.py")])
        assert sum(trace.size for trace in made.traces) < 0.5 * MIB
        machine.lines.clear()
    finally:
        tracemalloc.stop()
    assert len(watcher._known) <= 1 and len(watcher._seen) <= 1 and len(watcher._bad) <= 1
    assert len(watcher._said) <= 256 and len(watcher._finals) <= 20
    assert len(watcher.kept) <= 20
    assert len(list((machine.folder / "snapshots").iterdir())) <= 41  # with notes and the state


def test_a_damaged_state_counts_as_none(machine: Machine) -> None:
    machine.start(7)
    machine.write(7)
    machine.watcher().round()
    state = machine.folder / "snapshots/state.json"
    assert list(json.loads(state.read_text())) == [next(iter(machine.watcher()._seen))]
    for damage in (
        "",
        "[]",
        '{"a": 1}',
        '{"a": [1, 2, 3, 4, 5, 6]}',
        "[" * 100_000,
        '{"a": [0, "g", {"x": "y"}, 1, 1, 1]}',
    ):
        state.write_text(damage)
        assert machine.watcher()._seen == {}
    state.unlink()
    state.symlink_to("/etc/passwd")
    machine.watcher().round()
    assert not state.is_symlink()
