"""The difference of two recordings: totals, lenses and sites, signed; sites matched by function names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tare.analysis.recording import Recording
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame

Key = tuple[str, ...]  # names of a site's functions, innermost first

_MEASURES = ("blocks", "requested_bytes", "usable_bytes", "gross_bytes", "net_bytes", "tare_bytes")


class SiteSums(NamedTuple):
    """Sums of one site: its blocks, and the bytes granted to lenses."""

    peak_blocks: float = 0.0
    peak_gross_bytes: float = 0.0
    end_gross_bytes: float = 0.0
    calls: float = 0.0
    tare_bytes: float = 0.0  # at the peak


class SiteChange(NamedTuple):
    stack: list[Frame]
    before: SiteSums
    after: SiteSums
    lenses: dict[
        str, float
    ]  # by lens: change of bytes at the peak; of lenses that count calls and copies, over the run

    @property
    def gross_change(self) -> float:
        return self.after.peak_gross_bytes - self.before.peak_gross_bytes


class Change(NamedTuple):
    before: Recording
    after: Recording
    moments: dict[str, dict[str, tuple[float, float]]]  # moment -> measure -> (before, after)
    lenses: dict[str, dict[str, tuple[float, float]]]  # lens -> bytes_peak, bytes_end, bytes_total -> (before, after)
    sites: list[SiteChange]  # those that changed, largest first
    not_compared: list[str]  # lenses that run over one of the recordings only

    def measured_at_peak(self, lens: str) -> bool:
        """Whether a site's change of the lens is of bytes at the peak; otherwise of bytes over the run."""
        return next(_has_peak(each) for each in self.after.ledger.lenses if each.name == lens)


def _has_peak(lens: Lens) -> bool:
    return lens.unit not in ("copied", "calls") or lens.weight == "tare"


def between(before: Recording, after: Recording) -> Change:
    first, second = before.runnable_lenses(), after.runnable_lenses()
    before.run_lenses_of(after)
    after.run_lenses_of(before)
    moments: dict[str, dict[str, tuple[float, float]]] = {}
    for name in ("peak", "end", "total"):
        pairs = {
            measure: (getattr(before.moments[name], measure), getattr(after.moments[name], measure))
            for measure in _MEASURES
        }
        moments[name] = {measure: pair for measure, pair in pairs.items() if None not in pair}
    totals_before, totals_after = ({t.lens: t for t in each.ledger.lens_totals()} for each in (before, after))
    lenses = {
        name: {
            m: (getattr(totals_before[name], m), getattr(totals_after[name], m))
            for m in ("bytes_peak", "bytes_end", "bytes_total")
        }
        for name in totals_before
        if name in totals_after
    }
    not_compared = [name for name in (*first, *second) if name not in first or name not in second]
    return Change(before, after, moments, lenses, _sites(before, after), not_compared)


def _sites(before: Recording, after: Recording) -> list[SiteChange]:
    old, new = site_sums(before), site_sums(after)
    old_lenses, new_lenses = _lens_sums(before, old), _lens_sums(after, new)
    changes = []
    for key in old.keys() | new.keys():
        stack, was, now = (new.get(key) or old[key])[0], _sums(old, key), _sums(new, key)
        by_lens: dict[str, float] = {
            lens: difference
            for lens in sorted(old_lenses.keys() | new_lenses.keys())
            if (difference := round(new_lenses.get(lens, {}).get(key, 0.0) - old_lenses.get(lens, {}).get(key, 0.0)))
        }
        if by_lens or any(round(a) != round(b) for a, b in zip(was, now, strict=True)):
            changes.append(SiteChange(stack, was, now, by_lens))
    changes.sort(
        key=lambda c: (-abs(c.gross_change), -abs(c.after.calls - c.before.calls), tuple(f.name for f in c.stack))
    )
    return changes


_Sites = dict[Key, tuple[list["Frame"], SiteSums, list[int]]]


def site_sums(recording: Recording) -> _Sites:
    """Sums by key; several of a recording's sites may share one (the same functions at other addresses)."""
    database = recording.database
    database.use("sites", "stack_sites")
    rows = database.rows(
        f"""
        with granted as (select size_id, sum(bytes_peak) as tare_bytes from ({recording.ledger.grants()}) group by size_id)
        select s.site_id, sum(peak_blocks), sum((usable_bytes + header_bytes) * peak_blocks),
               sum((usable_bytes + header_bytes) * end_blocks), sum(total_blocks), cast(coalesce(sum(g.tare_bytes), 0) as double)
        from site_sizes z join stack_sites s on s.stack_id = z.stack_id left join granted g on g.size_id = z.size_id
        group by s.site_id
        """
    )
    stacks = recording.site_stacks([row[0] for row in rows])
    sums: _Sites = {}
    for site_id, *values in rows:
        key = stable_names(stacks[site_id])
        stack, known, ids = sums.get(key, (stacks[site_id], SiteSums(), []))
        sums[key] = (stack, SiteSums(*(a + b for a, b in zip(known, values, strict=True))), [*ids, site_id])
    return sums


def stable_names(stack: Iterable[Frame]) -> Key:
    """The linker's names where there are such (demanglers differ in spelling), else the files of code without their addresses."""
    return tuple(frame.mangled or frame.function or f"?{frame.module.rpartition('/')[2]}" for frame in stack)


def _sums(sites: _Sites, key: Key) -> SiteSums:
    return sites[key][1] if key in sites else SiteSums()


def _lens_sums(recording: Recording, sites: _Sites) -> dict[str, dict[Key, float]]:
    key_of = {site_id: key for key, (_, _, ids) in sites.items() for site_id in ids}
    sums: dict[str, dict[Key, float]] = {}
    for lens in recording.ledger.lenses:
        by_key: dict[Key, float] = {}
        for site_id, peak, total in recording.ledger.sums_by_site(lens):
            key = key_of.get(site_id)
            if key is None:  # a site that only maps memory
                continue
            by_key[key] = by_key.get(key, 0.0) + ((peak if _has_peak(lens) else total) or 0.0)
        sums[lens.name] = by_key
    return sums
