"""The report as one JSON object, never truncated: the form that scripts rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tare.analysis.callers import callers
from tare.analysis.languages import remedy
from tare.analysis.not_sought import not_sought
from tare.analysis.sampling_error import peak_error
from tare.reports import account, failed_requests
from tare.reports.generated_code import generated_code
from tare.reports.python_frames import python_frames
from tare.reports.text_parts import nameless_files
from tare.reports.unwind_gaps import unwind_gaps
from tare.reports.watched import end, memory_kill
from tare.schema.missing import lacks_slop, words_of
from tare.text.printable import printable_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.analysis.ledger import Finding
    from tare.analysis.recording import Moment, Recording
    from tare.analysis.records import Page
    from tare.analysis.worth import Worth
    from tare.lenses.lens import Lens
    from tare.naming.names import Frame


def number(value: float | None) -> int | float | None:
    """Whole numbers as such; null stays null, never 0."""
    return None if value is None else round(value)


def _moment(moment: Moment) -> dict[str, Any]:
    return {
        "blocks": number(moment.blocks),
        "requested_bytes": number(moment.requested_bytes),
        "usable_bytes": number(moment.usable_bytes),
        "gross_bytes": number(moment.gross_bytes),
        "net_bytes": None if moment.tare_bytes is None else round(moment.gross_bytes) - round(moment.tare_bytes),
        "tare_bytes": number(moment.tare_bytes),
    }


def frame(frame: Frame) -> dict[str, Any]:
    return {
        "function": frame.function or None,
        "file": frame.file or None,
        "line": frame.line,
        "module": frame.module or None,
        "module_offset": frame.module_offset,
    }


def _gain(worth: Worth | None) -> dict[str, Any]:
    """None: of a recording in progress, which has no peak yet."""
    return {
        "gain_peak_bytes": number(worth.gain_peak_bytes) if worth else None,
        "gain_cpu_ns": number(worth.gain_cpu_ns) if worth else None,
        "gain_cpu_at_least": worth.cpu_at_least if worth and worth.gain_cpu_ns is not None else None,
        "gain_peak_exact": worth.peak_exact if worth and worth.gain_peak_bytes is not None else None,
        "gain_evidence": (worth.evidence or None) if worth else None,
        "effort": worth.effort if worth else None,
    }


def finding(found: Finding, named: Frame, stack: list[Frame], worth: Worth | None = None) -> dict[str, Any]:
    return {
        "lens": found.lens,
        **_gain(worth),
        "function": named.function or None,
        "file": named.file or None,
        "line": named.line,
        "stack": [frame(f) for f in stack],
        "blocks": number(found.blocks),
        "bytes_peak": number(found.bytes_peak),
        "bytes_end": number(found.bytes_end),
        "bytes_total": number(found.bytes_total),
        "byte_seconds": None if found.byte_ns is None else found.byte_ns / 1e9,
        "calls": number(found.calls),
        "confidence": found.confidence,
        "at_least": found.at_least,
        "samples": number(found.samples),
        "mark": found.mark or None,
        "remedy": remedy(found, named),
    }


def findings(recording: Recording, chosen: Sequence[Lens]) -> list[dict[str, Any]]:
    """Every finding of the chosen lenses (none: of all) above its lens' threshold, in order of worth."""
    from tare.analysis.worth import whole_of, worth_of

    names = {lens.name for lens in chosen}
    found = [
        each for lens in recording.ledger.lenses if not names or lens.name in names for each in recording.findings(lens)
    ]
    whole = whole_of(recording)
    priced = sorted(
        ((each, worth_of(recording, each, whole)) for each in found), key=lambda pair: -whole.score(pair[1])
    )
    stacks = recording.site_stacks(sorted({each.site_id for each in found}))
    frames = recording.finding_frames([each for each, _ in priced])
    return [
        finding(each, named, stacks[each.site_id], worth) for (each, worth), named in zip(priced, frames, strict=True)
    ]


def do_first(recording: Recording) -> dict[str, Any]:
    """The list that the report begins with: findings of one line are one entry, and no gain counts twice."""
    from tare.analysis.worth import ranking

    listed = ranking(recording.by_line)
    frames = recording.by_line.finding_frames([entry.finding for entry in listed.first])
    return {
        "of_peak_bytes": number(listed.whole.peak_bytes),
        "of_run_ns": number(listed.whole.run_ns),
        "list": [
            {
                "lenses": list(entry.lenses),
                "function": named.function or None,
                "file": named.file or None,
                "line": named.line,
                **_gain(entry.worth),
                "confidence": entry.finding.confidence,
                "at_least": entry.worth.peak_at_least,
                "callers": [{**frame(caller.frame), "share": round(caller.share, 4)} for caller in called_by],
                "remedy": remedy(entry.finding, named),
            }
            for entry, named, called_by in zip(listed.first, frames, callers(recording, listed.first), strict=True)
        ],
        "smaller": len(listed.rest),
    }


def _snapshot(recording: Recording) -> dict[str, Any] | None:
    """The one that lenses read the blocks of."""
    seen = recording.snapshot
    if seen is None:
        return None
    return {
        "kind": seen.kind,
        "time_ns": seen.time_ns,
        "gross_bytes": number(seen.gross_bytes),
        "share_of_peak": round(seen.share, 4),
    }


def _warnings(recording: Recording) -> list[str]:
    few = [recording.snapshot.sentence] if recording.snapshot and not recording.snapshot.is_enough else []
    return [
        *recording.source.warnings,
        *few,
        *nameless_files(recording),
        *unwind_gaps(recording),
        *generated_code(recording),
        *python_frames(recording.process["python"]),
    ]


def _segment(recording: Recording) -> dict[str, Any] | None:
    """The trace's place in a recording, and the counters before it; none for a recording in one file."""
    from tare.analysis.segments import others

    process = recording.process
    if process["segment"] is None:
        return None
    before = {name.removeprefix("before_"): value for name, value in process.items() if name.startswith("before_")}
    return {
        "number": process["segment"],
        "continued": bool(process["continued"]),
        "live_blocks": number(process["inherited_blocks"]),
        "before": before,
        "others": others(recording.path),
    }


def report(
    recording: Recording, page: Page | None, chosen: Sequence[Lens], selection: dict[str, Any]
) -> dict[str, Any]:
    process = recording.process
    lacking = set(words_of(process["missing_facts"]))
    peak = _moment(recording.moments["peak"])
    peak["time_ns"] = process["peak_time_ns"]
    result: dict[str, Any] = {
        "program": process["program"],
        "pid": process["pid"],
        "allocator": process["allocator"],
        "command_line": process["command_line"],
        "duration_ns": process["duration_ns"],
        "complete": bool(process["complete"] or process["continued"]),
        "segment": _segment(recording),
        "sample_bytes": process["sample_bytes"],
        "sample_doublings": process["sample_doublings"],
        "sampling_stopped_by": process["sampling_stopped_by"],
        "sampling_stopped_ns": process["sampling_stopped_ns"],
        "recorder_cpu_ns": process["recorder_cpu_ns"],
        "process_cpu_ns": process["process_cpu_ns"],
        "peak_standard_error": peak_error(recording),
        "imported_from": process["imported_from"],
        "missing_facts": words_of(process["missing_facts"]),
        "account": account.as_json(recording),
        "events": process["events"],
        "impossible_events": process["impossible_events"],
        "dropped_events": process["dropped_events"],
        "pre_existing_frees": process["pre_existing_frees"],
        "failed_requests": failed_requests.as_json(recording),
        "warnings": _warnings(recording),
        "watched_end": end.as_json(recording),
        "memory_kill": memory_kill.as_json(recording),
        "snapshot": _snapshot(recording),
        "lenses_run": [lens.name for lens in recording.ledger.lenses],
        "lenses": [
            {
                "lens": totals.lens,
                "weight": totals.weight,
                "bytes_peak": number(totals.bytes_peak),
                "bytes_end": number(totals.bytes_end),
                "bytes_total": number(totals.bytes_total),
            }
            for totals in recording.ledger.lens_totals()
        ],
        "peak": peak,
        "end": _moment(recording.moments["end"]),
        "total": _moment(recording.moments["total"]),
        "findings": findings(recording, chosen),
        "do_first": None if chosen else do_first(recording),
        "not_looked_for": not_sought(recording),
    }
    if process["at_blocks"] is not None:
        names = ("blocks", "requested_bytes", "usable_bytes", "gross_bytes")
        result["at"] = {name: number(process[f"at_{name}"]) for name in names}
    if page is not None:
        result["records"] = {
            **selection,
            "gross_bytes": number(page.gross_bytes),
            "list": [
                {
                    "blocks": number(record.blocks),
                    "requested_bytes": number(record.requested_bytes),
                    "slop_bytes": None if lacks_slop(lacking) else number(record.slop_bytes),
                    "usable_bytes": None if "usable" in lacking else number(record.usable_bytes),
                    "gross_bytes": number(record.gross_bytes),
                    "byte_seconds": None if record.byte_ns is None else record.byte_ns / 1e9,
                    "calls": number(record.calls),
                    "sizes": [
                        {
                            "usable_bytes": None if "usable" in lacking else size.usable_bytes,
                            "requested_bytes": size.requested_bytes,
                            "blocks": number(size.blocks),
                        }
                        for size in record.sizes
                    ],
                    "stack": [frame(f) for f in record.stack],
                }
                for record in page.records
            ],
        }
    return result


def dump(value: object) -> str:
    return printable_json(json.dumps(value, indent=1, ensure_ascii=False))
