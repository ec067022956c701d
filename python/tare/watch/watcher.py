"""One round over all watched files: snapshots when they are due, and a final one of processes that were killed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from tare.errors import IO, TareError
from tare.watch import notes, oom, reader, snapshots, state
from tare.watch.alarms import Alarms
from tare.watch.folder import MOST_FILES, Entry, Folder
from tare.watch.metrics import Own
from tare.watch.oom import Verdict
from tare.watch.pressure import Groups
from tare.watch.process import Found, Processes
from tare.watch.snapshots import Limits
from tare.watch.state import Seen
from tare.watch.store import Store
from tare.watch.triggers import Conditions, Triggers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.watch.exact import ExactRecordings
    from tare.watch.oom import Counters
    from tare.watch.reader import Facts

_SAY_AGAIN_S = 3600.0  # after which the same line may be printed again
_FULL_PAUSE_S = 300.0  # without snapshots, on a disk that stays full
_MOST_SAID = 256
_SEEN_SAVED_NS = 60 * 10**9  # the file of states is written again after that, if only times changed


class Settings(NamedTuple):
    every_s: float = 60.0
    limits: Limits = Limits()
    conditions: Conditions = Conditions()
    dead_after_s: float = 900.0  # of a process that isn't visible from here
    own_since_ns: int = 0  # processes that began later were started by this command: they are visible while they live


class Clock:
    """Intervals by the monotonic clock; names by the calendar."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def realtime_ns(self) -> int:
        return time.time_ns()


class Watched:
    """A file whose facts could be read."""

    def __init__(self, entry: Entry, facts: Facts) -> None:
        self.entry = entry
        self.facts = facts
        self.due_s = 0.0
        self.shot_at: tuple[float, float] | None = None  # blocks allocated and freed at the last snapshot
        self.visible_pid = 0
        self.rss_bytes: int | None = None
        self.group = ""
        self.silent = False


class Watcher:
    def __init__(
        self,
        folder: Folder,
        settings: Settings,
        say: Callable[[str], None],
        *,
        clock: Clock | None = None,
        processes: Processes | None = None,
        groups: Groups | None = None,
        exact: ExactRecordings | None = None,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.triggers = Triggers(settings.conditions)
        self.taken: dict[str, int] = {}  # snapshots by reason
        self.failures = 0
        self.rounds = 0
        self.kept: list[snapshots.Snapshot] = []  # on disk
        self.signals: dict[int, int] = {}  # pid -> signal that ended it, where this process started it
        self._say = say
        self._said: dict[str, float] = {}
        self._clock = clock or Clock()
        self._processes = processes or Processes()
        self._groups = groups or Groups()
        self._exact = exact
        self.alarms = Alarms(self._groups)
        self._dying: dict[str, Counters] = {}  # of processes that were killed and hadn't ended yet
        self._before: Seen | None = None  # of the last round, for processes that begin and end between two
        self._known: dict[str, Watched] = {}
        self._bad: dict[str, Entry] = {}  # unreadable as they are
        self._added = False
        self._saved_ns = 0
        self._store = Store(folder.open_snapshots(), f"{folder.path}/snapshots")
        self._store.clean()
        folder.clean(self._clock.realtime_ns() / 1e9)
        self._seen = state.load(self._store)
        self._own = self._seen_as_own() if settings.own_since_ns else None
        self._saved = dict(self._seen)
        self._finals: dict[tuple[str, str], int] = {}  # process, reason -> when
        self._full_until_s = 0.0
        self._rotate()

    def round(self) -> None:
        """Work is linear in the number of files."""
        self.rounds += 1
        now_s, now_ns = self._clock.monotonic_s(), self._clock.realtime_ns()
        entries, has_more = self.folder.watched()
        if has_more:
            self._say_once(f"{self.folder.path} has more than {MOST_FILES} watched files: the others aren't read")
        self._processes.refresh()
        alive, dead = self._sorted_by_life(entries, now_ns)
        self._finish(dead)
        self._note_counters(now_ns)
        for each in alive:
            self._look_at(each, now_s)
        self._apply_group_triggers(alive, now_s)
        self._forget({entry.name for entry in entries})
        if self._exact is not None:
            for line in self._exact.poll(self._store, self._clock.monotonic_s()):
                self._fail(line)
        if self._added:
            self._rotate()
        self._save(now_ns)

    def request(self, reason: str, pid: int = 0) -> list[str]:
        """Snapshots of all processes, or of one, now. Returns their names."""
        self._processes.refresh()
        alive, _ = self._sorted_by_life(self.folder.watched()[0], self._clock.realtime_ns())
        wanted = [each for each in alive if pid in (0, each.facts.process_id)]
        if wanted:
            self.triggers.fired[reason] = self.triggers.fired.get(reason, 0) + 1
        names = [self._snapshot(each, reason) for each in wanted]
        self._rotate()
        return [name for name in names if name]

    def alarm(self, now_s: float) -> bool:
        """Whether a round is due. Counters of killed processes are read now: their group may be gone at the next round."""
        is_due, killed = self.alarms.changed(now_s)
        for each in self._known.values():
            if each.group in killed and each.visible_pid and self._processes.is_dying(each.visible_pid):
                self._dying[each.facts.image] = oom.counters(self._groups, each.group)
        return is_due

    def figures(self) -> tuple[list[tuple[Facts, int | None]], Own]:
        """Of the last round."""
        rows = [(each.facts, each.rss_bytes) for _, each in sorted(self._known.items())]
        size = sum(each.file_bytes for each in self.kept)
        own = Own(self.taken, self.triggers.fired, self.failures, len(self.kept), size, self.rounds)
        return rows, own

    def close(self) -> None:
        self.alarms.close()
        if self._exact is not None:
            self._exact.stop()

    @property
    def living(self) -> int:
        """Processes that still record."""
        return sum(not each.silent and not each.facts.ended for each in self._known.values())

    def _sorted_by_life(self, entries: list[Entry], now_ns: int) -> tuple[list[Watched], list[Watched]]:
        alive, dead = list[Watched](), list[Watched]()
        for entry in entries:
            each = self._read(entry)
            if each is None:
                continue
            if each.facts.ended:
                dead.append(each)
                continue
            found = self._find(each.facts)
            if found.state == "dead" or (found.state == "hidden" and self._has(each.facts, "killed")):
                dead.append(each)
            elif found.state == "hidden" and now_ns - each.facts.updated_ns > self.settings.dead_after_s * 1e9:
                if not each.silent and not self._has(each.facts, "silent"):
                    self._write_final(each, "silent", Verdict(oom.UNKNOWN))
                each.silent = True
            else:
                each.silent = False
                self._note_alive(each, found, now_ns)
                alive.append(each)
        return alive, dead

    def _find(self, facts: Facts) -> Found:
        seen = self._seen.get(facts.image)
        was_seen = seen is not None and seen.namespace == self._processes.namespace != 0
        own = self._is_own(facts)
        return self._processes.find(
            facts.process_id, facts.process_start_ticks, facts.boot_id, was_seen=was_seen or own
        )

    def _is_own(self, facts: Facts) -> bool:
        return 0 < self.settings.own_since_ns <= facts.began_ns

    def _seen_as_own(self) -> Seen:
        """Before the program starts, which begins in this process' control group: it may end before a round."""
        group = self._groups.of_process(os.getpid())
        counted = oom.counters(self._groups, group)
        return Seen(self._processes.namespace, group, counted, self._clock.realtime_ns())

    def _seen_of(self, facts: Facts) -> Seen | None:
        return self._seen.get(facts.image) or (self._own if self._is_own(facts) else None)

    def _note_counters(self, now_ns: int) -> None:
        """After a round's deaths, so that their kills aren't counted for processes that begin later."""
        before = self._before.group if self._before else ""
        group = next((seen.group for seen in self._seen.values() if seen.group), before)
        self._before = Seen(0, group, oom.counters(self._groups, group), now_ns)

    def _read(self, entry: Entry) -> Watched | None:
        """None: unreadable; read again when the file has changed."""
        if self._bad.get(entry.name) == entry:
            return None
        shown = f"{self.folder.path}/{entry.name}"
        try:
            with self.folder.opened(entry.name) as path:
                facts = reader.facts_of(path, shown)
        except TareError as error:
            if isinstance(error.__cause__, FileNotFoundError):  # the process has just ended
                return None
            self._bad[entry.name] = entry
            self._known.pop(entry.name, None)
            self._fail(error.message)
            return None
        self._bad.pop(entry.name, None)
        each = self._known.get(entry.name)
        if each is None or each.entry.inode != entry.inode or each.facts.image != facts.image:
            each = self._known[entry.name] = Watched(entry, facts)
        each.entry, each.facts = entry, facts
        return each

    def _note_alive(self, each: Watched, found: Found, now_ns: int) -> None:
        each.visible_pid = found.visible_pid
        each.rss_bytes = self._processes.rss_bytes(found.visible_pid) if found.visible_pid else None
        image, before = each.facts.image, self._seen.get(each.facts.image)
        if not each.group:
            each.group = self._groups.of_process(found.visible_pid) if found.visible_pid else ""
            if not each.group and before is not None:
                each.group = before.group
        namespace = self._processes.namespace if found.visible_pid else (before.namespace if before else 0)
        counted = oom.counters(self._groups, each.group)
        # The kernel counts a kill before it sends the signal: a process that isn't dying yet isn't in these counters.
        if before is not None and counted != before.counters and self._processes.is_dying(found.visible_pid):
            self._dying[image] = counted
            return
        self._seen[image] = Seen(namespace, each.group, counted, now_ns)

    def _look_at(self, each: Watched, now_s: float) -> None:
        if each.facts.stopped:
            self._say_once(f"process {each.facts.process_id} has stopped recording: {each.facts.stopped}")
        fired = self.triggers.of_process(each.facts.image, now_s, each.facts.live_bytes, each.rss_bytes)
        for name in fired:
            self._trigger(each, name)
        at = (each.facts.allocated_blocks, each.facts.freed_blocks)
        if now_s >= each.due_s:
            each.due_s = now_s + self.settings.every_s
            if not fired and at != each.shot_at:
                self._snapshot(each, "timer")

    def _apply_group_triggers(self, alive: list[Watched], now_s: float) -> None:
        conditions = self.settings.conditions
        if not (conditions.pressure_percent or conditions.at_limit):
            return
        members: dict[str, list[Watched]] = {}
        for each in alive:
            members.setdefault(each.group, []).append(each)
        for folder, mine in members.items():
            at_limit = self._groups.events(folder).at_limit if folder else None
            for name in self.triggers.of_group(folder, now_s, self._groups.pressure(folder), at_limit):
                for each in mine:
                    self._trigger(each, name)

    def _trigger(self, each: Watched, name: str) -> None:
        self._snapshot(each, name)
        facts = each.facts
        if self._exact is not None and each.visible_pid and not facts.stopped and not facts.rests:
            for line in self._exact.start(each.visible_pid, facts, self._store, self._clock):
                self._fail(line)

    def _finish(self, dead: list[Watched]) -> None:
        """Final snapshots. The file of a killed process goes; one that its process kept on purpose (ended) stays."""
        deaths: dict[str, int] = {}
        for each in dead:
            if not each.facts.ended:
                seen = self._seen_of(each.facts)
                group = seen.group if seen else ""
                deaths[group] = deaths.get(group, 0) + 1
        for each in dead:
            reason = "ended" if each.facts.ended else "killed"
            if not self._has(each.facts, reason):
                verdict = Verdict(oom.UNKNOWN)
                if reason == "killed" and each.facts.boot_id in ("", self._processes.boot_id):
                    verdict = self._verdict(each.facts, deaths)
                if not self._write_final(each, reason, verdict):
                    continue
            if reason == "killed":
                try:
                    self.folder.delete(each.entry)
                except TareError as error:
                    self._fail(error.message)
                self._known.pop(each.entry.name, None)

    def _verdict(self, facts: Facts, deaths: dict[str, int]) -> Verdict:
        if (seen := self._seen_of(facts)) is not None:
            return oom.judge(self._groups, seen.group, seen.counters, deaths, self._dying.get(facts.image))
        if self._before is not None and self._before.seen_ns <= facts.began_ns:
            return oom.judge_unseen(self._groups, self._before.counters, deaths)
        return Verdict(oom.UNKNOWN)

    def _write_final(self, each: Watched, reason: str, verdict: Verdict) -> str:
        facts, seen = each.facts, self._seen_of(each.facts)
        note = notes.Note(
            reason=reason,
            program=facts.program[:256],
            pid=facts.process_id,
            image=facts.image,
            live_bytes=facts.live_bytes,
            live_bytes_error=facts.live_bytes_error,
            sample_bytes=facts.sample_bytes,
            updated_ns=facts.updated_ns,
            seen_ns=seen.seen_ns if seen else 0,
            found_ns=self._clock.realtime_ns(),
            stopped=facts.stopped[:256],
            signal=self.signals.get(facts.process_id, 0),
            oom=verdict,
        )
        name = self._snapshot(each, reason, notes.packed(note))
        if name and reason == "killed":
            because = {oom.YES: "by the out-of-memory killer", oom.LIKELY: "probably by the out-of-memory killer"}
            how = f"was killed {because.get(verdict.verdict, 'or crashed')}"
            if facts.stopped and verdict.verdict not in because:
                how = "has ended"
            self._say(
                f"{facts.program} (process {facts.process_id}) {how}: see `tare report {self._store.shown}/{name}`"
            )
        return name

    def _snapshot(self, each: Watched, reason: str, note: bytes | None = None) -> str:
        """The name; empty: it failed, and a line is printed."""
        if self._clock.monotonic_s() < self._full_until_s:
            return ""
        shown = f"{self.folder.path}/{each.entry.name}"
        now_ms = self._now_ms()
        name = snapshots.name_of(each.facts.program, each.facts.image, now_ms, reason, each.facts.live_bytes)
        try:
            with self.folder.opened(each.entry.name) as path:
                deleted = self._store.add(name, lambda out: reader.write_trace(path, out, shown), note, now_ms)
        except TareError as error:
            if error.kind != IO:  # of the file, not of the disk
                self._bad[each.entry.name] = each.entry
            elif self._store.is_full(error):  # a disk that others fill must not cost all snapshots
                self._full_until_s = self._clock.monotonic_s() + _FULL_PAUSE_S
            self._fail(error.message)
            return ""
        if deleted:
            self._say_once(f"{self._store.shown}: the disk is full: deleted the oldest {deleted} snapshots")
        each.shot_at = (each.facts.allocated_blocks, each.facts.freed_blocks)
        self.taken[reason] = self.taken.get(reason, 0) + 1
        self._added = True
        return name

    def _rotate(self) -> None:
        self.kept = self._store.rotate(self._now_ms(), self.settings.limits)
        self._finals = {(each.image, each.reason): each.time_ms for each in sorted(self.kept, key=lambda e: e.time_ms)}
        self._added = False

    def _has(self, facts: Facts, reason: str) -> bool:
        """A snapshot of that reason, taken after the process' last write."""
        return self._finals.get((facts.image, reason), -1) >= facts.updated_ns // 1_000_000

    def _forget(self, names: set[str]) -> None:
        self._known = {name: each for name, each in self._known.items() if name in names}
        self._bad = {name: entry for name, entry in self._bad.items() if name in names}
        images = {each.facts.image for each in self._known.values()}
        self._dying = {image: counted for image, counted in self._dying.items() if image in images}
        self._seen = {image: seen for image, seen in self._seen.items() if image in images}
        groups = {each.group for each in self._known.values()}
        self.triggers.keep_only(images, groups)
        self.alarms.follow(groups)

    def _save(self, now_ns: int) -> None:
        """Only when something else than a time has changed, or the times are a minute old."""
        same = self._saved.keys() == self._seen.keys() and all(
            seen[:3] == self._saved[image][:3] for image, seen in self._seen.items()
        )
        if same and abs(now_ns - self._saved_ns) < _SEEN_SAVED_NS:
            return
        try:
            state.save(self._store, self._seen)
            self._saved, self._saved_ns = dict(self._seen), now_ns
        except OSError as error:
            self._say_once(f"{self._store.shown}/{state.NAME}: {error.strerror}")

    def _fail(self, line: str) -> None:
        self.failures += 1
        self._say_once(line)

    def _say_once(self, line: str) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._said.get(line, -_SAY_AGAIN_S) < _SAY_AGAIN_S:
            return
        self._said.pop(line, None)
        while len(self._said) >= _MOST_SAID:
            self._said.pop(next(iter(self._said)))
        self._said[line] = now_s
        self._say(line)

    def _now_ms(self) -> int:
        return self._clock.realtime_ns() // 1_000_000
