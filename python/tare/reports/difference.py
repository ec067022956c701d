"""The difference of two recordings: totals, lenses and sites, signed; sites matched by function names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare.reports.text_parts import nameless_files, wrapped
from tare.terminal import shorten
from tare.units import change_share, exact, human_bytes, human_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.names import Frame
    from tare.recording import Recording
    from tare.terminal import Style

Key = tuple[str, ...]  # names of a site's functions, innermost first

_MEASURES = ("blocks", "requested_bytes", "usable_bytes", "gross_bytes", "net_bytes", "tare_bytes")


# What a lens' sums say, by its unit; churn's are the bytes of blocks that died young.
_LENS_MEASURES = {
    "bytes": ("bytes_peak", "bytes_end"),
    "copied": ("bytes_total",),
    "calls": ("bytes_total",),
    "end": ("bytes_end",),
    "kept": ("bytes_peak", "bytes_end"),
    "pairs": ("bytes_peak", "bytes_total"),
    "unwritten": ("bytes_peak", "bytes_total"),
}


class SiteSums(NamedTuple):
    """What one site holds, and what the lenses say of it."""

    peak_blocks: float = 0.0
    peak_gross_bytes: float = 0.0
    end_gross_bytes: float = 0.0
    calls: float = 0.0
    tare_bytes: float = 0.0  # at the peak


class SiteChange(NamedTuple):
    stack: list[Frame]
    before: SiteSums
    after: SiteSums
    lenses: dict[str, float]  # by lens: change of bytes at the peak (tare lenses), of bytes in all (potential ones)

    @property
    def gross_change(self) -> float:
        return self.after.peak_gross_bytes - self.before.peak_gross_bytes


class Change(NamedTuple):
    before: Recording
    after: Recording
    moments: dict[str, dict[str, tuple[float, float]]]  # moment -> measure -> (before, after)
    lenses: dict[str, dict[str, tuple[float, float]]]  # lens -> bytes_peak, bytes_end, bytes_total -> (before, after)
    sites: list[SiteChange]  # those that changed, largest first


def between(before: Recording, after: Recording) -> Change:
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
    return Change(before, after, moments, lenses, _sites(before, after))


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
        with granted as (select shape_id, sum(bytes_peak) as tare_bytes from ({recording.ledger.grants()}) group by shape_id)
        select s.site_id, sum(peak_blocks), sum((usable_bytes + header_bytes) * peak_blocks),
               sum((usable_bytes + header_bytes) * end_blocks), sum(total_blocks), coalesce(sum(g.tare_bytes), 0)
        from site_sizes z join stack_sites s on s.stack_id = z.stack_id left join granted g on g.shape_id = z.shape_id
        group by s.site_id
        """
    )
    stacks = recording.site_stacks([row[0] for row in rows])
    sums: _Sites = {}
    for site_id, *values in rows:
        key = tuple(_stable_name(frame) for frame in stacks[site_id])
        stack, known, ids = sums.get(key, (stacks[site_id], SiteSums(), []))
        sums[key] = (stack, SiteSums(*(a + b for a, b in zip(known, values, strict=True))), [*ids, site_id])
    return sums


def _stable_name(frame: Frame) -> str:
    """The linker's name where there is one (demanglers differ in spelling), else the file of code without its address."""
    return frame.mangled or frame.function or f"?{frame.module.rpartition('/')[2]}"


def _sums(sites: _Sites, key: Key) -> SiteSums:
    return sites[key][1] if key in sites else SiteSums()


def _lens_sums(recording: Recording, sites: _Sites) -> dict[str, dict[Key, float]]:
    key_of = {site_id: key for key, (_, _, ids) in sites.items() for site_id in ids}
    sums: dict[str, dict[Key, float]] = {}
    for lens in recording.ledger.lenses:
        by_key: dict[Key, float] = {}
        for site_id, peak, total in recording.ledger.sums_by_site(lens):
            key = key_of[site_id]
            by_key[key] = by_key.get(key, 0.0) + ((peak if lens.weight == "tare" else total) or 0.0)
        sums[lens.name] = by_key
    return sums


def signed(value: float) -> str:
    return f"{round(value):+,}" if round(value) else "0"


def lines(change: Change, limit: int, style: Style, width: int) -> Iterator[str]:
    title = f"{change.before.title}, {change.before.path}  ->  {change.after.title}, {change.after.path}"
    for line in wrapped(title, width):
        yield style(line, "bold")
    notes = list(dict.fromkeys([*nameless_files(change.before), *nameless_files(change.after)]))
    if change.before.sampled or change.after.sampled:
        notes.append("a sampled recording's figures are scaled; small changes may be chance")
    for note in notes:
        for line in wrapped(f"note: {note}", width):
            yield style(line, "yellow")
    differences = any(round(a) != round(b) for measures in change.moments.values() for a, b in measures.values())
    if not differences and not change.sites:
        yield "(no change)"
        return
    if width >= _WIDE:
        yield f"{'(bytes, but for blocks)':<26}{'before':>18}{'after':>18}{'change':>18}"
    for moment, label in (("peak", "at the peak"), ("end", "at the end"), ("total", "in all")):
        for measure, (a, b) in change.moments[moment].items():
            if round(a) != round(b) or measure in ("gross_bytes", "net_bytes", "tare_bytes"):
                yield from _row(f"{label}: {measure.replace('_bytes', '')}", a, b, style, width)
    yield ""
    for lens in change.after.ledger.lenses:
        for measure in _LENS_MEASURES[lens.unit]:
            a, b = change.lenses[lens.name][measure]
            yield from _row(f"{lens.name}: {measure.removeprefix('bytes_')}", a, b, style, width)
    yield ""
    if not change.sites:
        yield "sites: (no change)"
    for site in change.sites[:limit]:
        was, now = site.before, site.after
        fate = "new" if not was.calls else "gone" if not now.calls else ""
        lenses = "".join(f", {lens} {signed(value)}" for lens, value in site.lenses.items())
        head = f"{signed(site.gross_change)} bytes at the peak"
        first, *rest = wrapped(
            head
            + (f" ({fate})" if fate else "")
            + f", {signed(now.peak_blocks - was.peak_blocks)} blocks, {signed(now.calls - was.calls)} calls{lenses}",
            width,
        )
        yield style(first[: len(head)], "yellow") + first[len(head) :]
        yield from rest
        for number, frame in enumerate(site.stack, start=1):
            yield shorten(f"    #{number:02}: {frame}", width)
    if len(change.sites) > limit:
        yield f"({len(change.sites) - limit:,} more)"


_WIDE = 26 + 3 * 18 + 12  # columns of a row


def _row(label: str, before: float, after: float, style: Style, width: int) -> Iterator[str]:
    look = "red" if after > before else "green"
    share = change_share(before, after)
    if width >= _WIDE:
        row = f"{label:<26}{exact(before):>18}{exact(after):>18}"
        yield row + (style(f"{signed(after - before):>18}", look) + f"  {share}" if share else f"{'(no change)':>18}")
        return
    show = human_count if label.endswith("blocks") else human_bytes
    yield label
    yield f"  {show(before)} -> {show(after)}  " + (style(share, look) if share else "(no change)")


def as_json(change: Change) -> dict[str, Any]:
    from tare.reports.json_report import frame

    def pair(values: tuple[float, float]) -> dict[str, int]:
        before, after = round(values[0]), round(values[1])
        return {"before": before, "after": after, "change": after - before}

    return {
        "before": {
            "path": change.before.path,
            "program": change.before.process["program"],
            "pid": change.before.process["pid"],
        },
        "after": {
            "path": change.after.path,
            "program": change.after.process["program"],
            "pid": change.after.process["pid"],
        },
        "lenses_run": list(change.lenses),
        **{
            moment: {measure: pair(values) for measure, values in measures.items()}
            for moment, measures in change.moments.items()
        },
        "lenses": {
            lens: {measure: pair(values) for measure, values in measures.items()}
            for lens, measures in change.lenses.items()
        },
        "sites": [
            {
                "stack": [frame(f) for f in site.stack],
                "gross_bytes_peak": pair((site.before.peak_gross_bytes, site.after.peak_gross_bytes)),
                "tare_bytes_peak": pair((site.before.tare_bytes, site.after.tare_bytes)),
                "gross_bytes_end": pair((site.before.end_gross_bytes, site.after.end_gross_bytes)),
                "blocks_peak": pair((site.before.peak_blocks, site.after.peak_blocks)),
                "calls": pair((site.before.calls, site.after.calls)),
                "lenses": site.lenses,
            }
            for site in change.sites
        ],
    }
