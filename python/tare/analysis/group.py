"""Sums over the processes of a group: each block counts once, in the process that allocated it.

A forked child begins with its parent's blocks. They count in the parent only: the child shares their pages until one of both
writes there. Each process counts at its own peak, so that the sum of all peaks is an upper bound. A smaller bound is
`at_once_bytes`: it adds only peaks of processes that ran at the same time, by their starts and ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.quick_recording import quickly
from tare.analysis.roles import process_of, roles_of
from tare.analysis.worth import ranking
from tare.errors import TareError
from tare.progress import Display, Progress, shown_by
from tare.source.core_source import CoreSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tare.analysis.group_files import GroupFiles
    from tare.analysis.recording import Recording
    from tare.analysis.roles import GroupProcess, Role
    from tare.analysis.worth import Entry
    from tare.naming.names import Frame

# Processes whose sites and findings are read: 40 ms each. Further ones count in all other sums.
_MOST_EXAMINED = 256


class RoleSums(NamedTuple):
    role: Role
    processes: list[GroupProcess]  # the largest peak first

    @property
    def peak_gross_bytes(self) -> float:
        return sum(each.peak_gross_bytes for each in self.processes)


class SiteSums(NamedTuple):
    frame: Frame
    peak_gross_bytes: float
    blocks: float  # allocated over the run
    processes: int


class FindingSums(NamedTuple):
    frame: Frame
    lenses: tuple[str, ...]
    gain_peak_bytes: float
    gain_cpu_ns: float
    processes: int
    example: Entry  # of the process with the largest gain
    path: str  # of that process's trace


class Group(NamedTuple):
    name: str  # the folder or the recording
    processes: list[GroupProcess]  # in the order of their starts
    roles: list[RoleSums]  # the largest sum first
    sites: list[SiteSums]  # likewise
    findings: list[FindingSums]  # the largest gain first
    tare_bytes: dict[str, float]  # by lens, at the peaks
    examined: list[GroupProcess]  # those whose sites, findings and tare are counted
    warnings: list[str]

    @property
    def peak_gross_bytes(self) -> float:
        return sum(each.peak_gross_bytes for each in self.processes)

    @property
    def run_ns(self) -> int:
        """Of all processes together."""
        return sum(each.duration_ns for each in self.processes)

    @property
    def duration_ns(self) -> int:
        """From the first start to the last end."""
        return max(each.end_ns for each in self.processes) - min(each.start_ns for each in self.processes)

    @property
    def at_once_bytes(self) -> float:
        """The greatest sum of peaks of processes that ran at the same time: an upper bound of the group's heap."""
        changes = [(each.start_ns, each.peak_gross_bytes) for each in self.processes]
        changes += [(each.end_ns + 1, -each.peak_gross_bytes) for each in self.processes]
        most = now = 0.0
        for _, change in sorted(changes):
            now += change
            most = max(most, now)
        return most

    @property
    def largest(self) -> GroupProcess:
        """The process that is shown in detail."""
        return max(self.processes, key=lambda each: each.peak_gross_bytes)


def group_of(name: str, files: GroupFiles) -> Group:
    """Files that can't be read become warnings; an error only if none can."""
    warnings = list(files.warnings)
    processes = _processes(files.paths, warnings)
    if not processes:
        raise TareError("Corrupt", f"no recording in {name} can be read: {warnings[0] if warnings else 'it is empty'}")
    processes.sort(key=lambda each: (each.start_ns, each.pid, each.image))
    by_role: dict[Role, list[GroupProcess]] = {}
    for process, role in zip(processes, roles_of(processes), strict=True):
        by_role.setdefault(role, []).append(process)
    roles = [
        RoleSums(role, sorted(each, key=lambda process: -process.peak_gross_bytes)) for role, each in by_role.items()
    ]
    roles.sort(key=lambda each: -each.peak_gross_bytes)
    largest = sorted(processes, key=lambda each: -each.peak_gross_bytes)[:_MOST_EXAMINED]
    sums = _Sums()
    with Progress("adding up processes") as progress:
        for number, process in enumerate(largest):
            progress.update(number / len(largest), process.program)
            with shown_by(_Collected(warnings)):
                try:
                    quickly(CoreSource(process.path, depth=1), sums.add)
                except TareError as error:  # it was readable before
                    warnings.append(error.message)
    findings = sorted(sums.findings.values(), key=_order(processes))
    sites = sorted(sums.sites.values(), key=lambda each: -each.peak_gross_bytes)
    return Group(name, processes, roles, sites, findings, sums.tare_bytes, largest, warnings)


def _processes(paths: Sequence[str], warnings: list[str]) -> list[GroupProcess]:
    found = []
    with Progress("reading processes") as progress:
        for number, path in enumerate(paths):
            progress.update(number / len(paths), path)
            with shown_by(_Collected(warnings)):
                try:
                    source = CoreSource(path, depth=1)
                    found.append(process_of(path, source.process(), source.inherited_peak_bytes(), source.warnings))
                    warnings.extend(source.warnings)
                except TareError as error:
                    warnings.append(error.message)
    return found


class _Collected(Display):
    """The bar of the group stays; tasks of one process aren't shown, and their warnings are the group's."""

    def __init__(self, warnings: list[str]) -> None:
        self._warnings = warnings

    def warn(self, message: str) -> None:
        self._warnings.append(message)


def _order(processes: Iterable[GroupProcess]) -> Callable[[FindingSums], float]:
    peaks = sum(each.peak_gross_bytes for each in processes) or 1.0
    run_ns = sum(each.duration_ns for each in processes) or 1
    return lambda each: -(each.gain_peak_bytes / peaks + each.gain_cpu_ns / run_ns)


class _Sums:
    def __init__(self) -> None:
        self.sites: dict[tuple[str, str, str], SiteSums] = {}
        self.findings: dict[tuple[object, str], FindingSums] = {}
        self.tare_bytes: dict[str, float] = {}
        self._found_in: dict[tuple[object, str], set[str]] = {}  # paths of the processes with a finding

    def add(self, recording: Recording) -> None:
        """One process, without inherited blocks: all lenses run over its own."""
        database = recording.database
        database.use("site_sizes", "sites", "stack_sites")
        if recording.process["forked"]:
            database.run("delete from site_sizes where inherited = 1")
        sites = self._sites(recording)
        entries = ranking(recording)
        listed = [*entries.first, *entries.rest]
        frames = recording.finding_frames([entry.finding for entry in listed])
        totals = recording.ledger.tare_totals
        # Nothing is added before everything is known: an engine that fails is replaced by the other one.
        for site in sites:
            known = self.sites.get(site.frame.reads, SiteSums(site.frame, 0.0, 0.0, 0))
            self.sites[site.frame.reads] = SiteSums(
                known.frame,
                known.peak_gross_bytes + site.peak_gross_bytes,
                known.blocks + site.blocks,
                known.processes + 1,
            )
        for entry, frame in zip(listed, frames, strict=True):
            self._add_finding(entry, frame, recording.path)
        for each in totals:
            self.tare_bytes[each.lens] = self.tare_bytes.get(each.lens, 0.0) + each.bytes_peak

    def _sites(self, recording: Recording) -> list[SiteSums]:
        rows = recording.database.rows(
            "select t.site_location_id, sum((z.usable_bytes + z.header_bytes) * z.peak_blocks), sum(z.total_blocks)"
            " from site_sizes z join stack_sites s on s.stack_id = z.stack_id join sites t on t.site_id = s.site_id"
            " group by t.site_location_id"
        )
        recording.names.prepare(row for row, *_ in rows if row is not None)
        found: dict[object, SiteSums] = {}
        for row, peak, blocks in rows:
            frame = recording.names.at(row)
            known = found.get(frame.reads, SiteSums(frame, 0.0, 0.0, 1))
            found[frame.reads] = SiteSums(frame, known.peak_gross_bytes + (peak or 0), known.blocks + (blocks or 0), 1)
        return list(found.values())

    def _add_finding(self, entry: Entry, frame: Frame, path: str) -> None:
        peak, cpu = entry.worth.gain_peak_bytes or 0.0, entry.worth.gain_cpu_ns or 0.0
        key = (frame.reads, entry.lenses[0])
        paths = self._found_in.setdefault(key, set())
        paths.add(path)
        known = self.findings.get(key)
        if known is None:
            self.findings[key] = FindingSums(frame, entry.lenses, peak, cpu, 1, entry, path)
            return
        larger = (peak, cpu) > (known.example.worth.gain_peak_bytes or 0.0, known.example.worth.gain_cpu_ns or 0.0)
        self.findings[key] = FindingSums(
            frame,
            tuple(dict.fromkeys((*known.lenses, *entry.lenses))),
            known.gain_peak_bytes + peak,
            known.gain_cpu_ns + cpu,
            len(paths),
            entry if larger else known.example,
            path if larger else known.path,
        )
