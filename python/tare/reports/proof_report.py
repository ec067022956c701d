"""`tare prove` as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare.analysis.languages import remedy
from tare.proofs.measure import QUARTERS
from tare.proofs.remedies import Simulation
from tare.reports.table import Column, table
from tare.text.units import change_share, exact, human_bytes, human_count, percent
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tare.proofs.measure import Change, Proof
    from tare.proofs.plan import Gain, Planned


class Proven(NamedTuple):
    """The result of one `tare prove`."""

    planned: Sequence[Planned]  # those that were chosen
    proofs: dict[int, Proof]  # by number of the finding
    together: Proof | None  # of all that were simulated, where these are several
    together_gain: Gain | None  # the prediction for these
    runs: int
    allocator: str
    outside_bytes: float | None
    peak_rss_bytes: int | None  # of the program, without the recorder's memory
    findings: int  # of the recording


def lines(proven: Proven, width: int) -> Iterator[str]:
    if len(proven.planned) == 1:
        (only,) = proven.planned
        yield from _finding(only, width)
        if proof := proven.proofs.get(only.number):
            peak, cpu = _predicted(only.gain)
            yield from _wrap("predicted", f"peak RSS {peak}, CPU {cpu}", width)
            yield ""
            yield from _details(proof, proven, width)
        return
    yield from _overview(proven, width)
    if proven.together is not None:
        yield ""
        yield from wrap("together (each block has the remedy of the first of these findings that is about it):", width)
        yield ""
        yield from _details(proven.together, proven, width)


def _finding(planned: Planned, width: int) -> Iterator[str]:
    finding = planned.finding
    yield from wrap(f"finding {planned.number}: {finding.lens} at {planned.frame}", width)
    yield from _wrap("remedy", remedy(finding, planned.frame), width)
    if isinstance(planned.simulation, Simulation):
        yield from _wrap("performed", planned.simulation.assumption, width)
    else:
        yield from _wrap("not performed", planned.simulation.reason, width)


def _wrap(label: str, text: str, width: int) -> list[str]:
    return wrap(f"{label}: {text}", width, initial_indent="  ", subsequent_indent="    ")


def _overview(proven: Proven, width: int) -> Iterator[str]:
    heads = [
        Column("", keep=True),
        Column("lens", "left", keep=True),
        Column("site", "left", least=12),
        Column("peak RSS\npredicted", keep=True),
        Column("\nproven", keep=True),
        Column("\nrange", "left"),
        Column("CPU\npredicted"),
        Column("\nproven", keep=True),
        Column("\ncalls"),
        Column("copied\nbytes"),
    ]
    rows = []
    for each in proven.planned:
        proof = proven.proofs.get(each.number)
        rows.append([str(each.number), each.finding.lens, str(each.frame), *_cells(proof, each.gain)])
    if proven.together is not None:
        rows.append(["", "together", "", *_cells(proven.together, proven.together_gain)])
    yield from table(heads, rows, width)
    for each in proven.planned:
        if not isinstance(each.simulation, Simulation):
            yield from wrap(f"{each.number} isn't performed: {each.simulation.reason}", width, subsequent_indent="  ")
    if proven.findings > len(proven.planned):
        yield f"({exact(proven.findings - len(proven.planned))} more findings; --all proves all)"


def _cells(proof: Proof | None, gain: Gain | None) -> list[str]:
    peak, cpu = _predicted(gain)
    if proof is None:
        return [peak, "not performed", "", cpu, "", "", ""]
    return [
        peak,
        _signed(proof.peak_rss.change, human_bytes),
        _range(proof.peak_rss, human_bytes),
        cpu,
        _signed(proof.cpu_s.change, _milliseconds),
        _signed(proof.calls.change, human_count),
        _signed(proof.copied_bytes.change, human_bytes),
    ]


def _predicted(gain: Gain | None) -> tuple[str, str]:
    if gain is None:
        return "", ""
    return (
        _bounded(gain.peak_bytes, human_bytes, is_least=gain.peak_at_least),
        _bounded(None if gain.cpu_ns is None else gain.cpu_ns / 1e9, _milliseconds, is_least=gain.cpu_at_least),
    )


def _bounded(gain: float | None, form: Callable[[float], str], *, is_least: bool) -> str:
    """A gain is a fall of the figure: `-4.9 MiB`, `≥4.9 MiB` of one that is at least so large."""
    if gain is None:
        return "-"
    return f"≥{form(gain)}" if is_least and gain > 0 else _signed(-gain, form)


def _details(proof: Proof, proven: Proven, width: int) -> Iterator[str]:
    heads = [
        Column("", "left", keep=True),
        Column("before", keep=True),
        Column("after", keep=True),
        Column("change", keep=True),
        Column(""),
        Column(f"range of {proven.runs} pairs", "left"),
    ]
    rows = [_row("peak RSS of the heap", proof.peak_rss, human_bytes)]
    for quarter, (before, after) in enumerate(proof.course, 1):
        if before is not None and after is not None:
            rows.append(
                [f"  quarter {quarter} of {QUARTERS} of the run", human_bytes(before), human_bytes(after),
                 _signed(after - before, human_bytes), change_share(before, after), ""]
            )  # fmt: skip
    rows.append(_row("page faults", proof.faults, human_count))
    rows.append(_row("CPU of the calls", proof.cpu_s, _milliseconds))
    rows.append(_row("copied bytes", proof.copied_bytes, human_bytes))
    rows.append(_row("calls", proof.calls, human_count))
    yield from table(heads, rows, width)
    yield ""
    if proven.outside_bytes is not None:
        before, after = (proven.outside_bytes + each for each in (proof.peak_rss.before, proof.peak_rss.after))
        yield from wrap(
            f"peak RSS of the program: {human_bytes(before)} -> {human_bytes(after)}"
            f" ({_signed_percent(after - before, before)})",
            width,
        )
    elif proven.peak_rss_bytes:
        yield from wrap(
            f"peak RSS of the program: unknown after the remedy. The performed calls write whole blocks ({human_bytes(proof.peak_rss.before)}),"
            f" but the program touched a part of its blocks only ({human_bytes(proven.peak_rss_bytes)} of RSS in all). A recording with"
            " --content has the written part of each block.",
            width,
        )
    yield from wrap(
        f"{exact(proof.rewritten_blocks)} blocks rewritten; {proven.allocator}; medians of {proven.runs} runs of each, in turn",
        width,
    )
    if not proof.peak_rss.certain and not proof.cpu_s.certain:
        yield "no change of peak RSS or CPU is certain: the pairs differ in both directions"
    if proof.failed_calls:
        yield from wrap(f"the allocator refused {exact(proof.failed_calls)} calls", width)


def _row(label: str, change: Change, form: Callable[[float], str]) -> list[str]:
    return [
        label,
        form(change.before),
        form(change.after),
        _signed(change.change, form),
        change_share(change.before * 1e6, change.after * 1e6),
        _range(change, form),
    ]


def _signed(value: float, form: Callable[[float], str]) -> str:
    return form(value) if value < 0 or form(value) == form(0) else f"+{form(value)}"


def _range(change: Change, form: Callable[[float], str]) -> str:
    return "all alike" if change.low == change.high else f"{_signed(change.low, form)} to {_signed(change.high, form)}"


def _milliseconds(seconds: float) -> str:
    digits = 0 if abs(seconds) >= 0.1 else 2
    return f"{seconds * 1e3:.{digits}f} ms"


def _signed_percent(part: float, whole: float) -> str:
    return ("+" if part > 0 else "") + percent(part, whole)


def as_json(proven: Proven) -> dict[str, Any]:
    return {
        "allocator": proven.allocator,
        "runs": proven.runs,
        "findings_of_recording": proven.findings,
        "findings": [_finding_json(each, proven) for each in proven.planned],
        "together": None
        if proven.together is None
        else {**_gain_json(proven.together_gain), **_proof_json(proven.together, proven)},
    }


def _gain_json(gain: Gain | None) -> dict[str, int | bool | None]:
    peak, cpu, peak_at_least, cpu_at_least = gain or (None, None, None, None)
    return {
        "gain_peak_bytes": None if peak is None else round(peak),
        "gain_peak_at_least": None if peak is None else peak_at_least,
        "gain_cpu_ns": None if cpu is None else round(cpu),
        "gain_cpu_at_least": None if cpu is None else cpu_at_least,
    }


def _finding_json(planned: Planned, proven: Proven) -> dict[str, Any]:
    finding, frame = planned.finding, planned.frame
    simulated = isinstance(planned.simulation, Simulation)
    proof = proven.proofs.get(planned.number)
    return {
        "number": planned.number,
        "lens": finding.lens,
        "function": frame.name,
        "file": frame.file or None,
        "line": frame.line,
        "remedy": remedy(finding, frame),
        "confidence": finding.confidence,
        "performed": planned.simulation.assumption if isinstance(planned.simulation, Simulation) else None,
        "not_performed": None if simulated else getattr(planned.simulation, "reason", None),
        **_gain_json(planned.gain),
        "proof": None if proof is None else _proof_json(proof, proven),
    }


def _proof_json(proof: Proof, proven: Proven) -> dict[str, Any]:
    def of(change: Change, digits: int = 0) -> dict[str, float]:
        return {name: round(value, digits) if digits else round(value) for name, value in change._asdict().items()}

    outside = proven.outside_bytes
    return {
        "rewritten_blocks": proof.rewritten_blocks,
        "peak_rss_bytes": of(proof.peak_rss),
        "program_peak_rss_bytes": None
        if outside is None
        else {"before": round(outside + proof.peak_rss.before), "after": round(outside + proof.peak_rss.after)},
        "quarters_rss_bytes": [
            {"before": None if before is None else round(before), "after": None if after is None else round(after)}
            for before, after in proof.course
        ],
        "faults": of(proof.faults),
        "cpu_s": of(proof.cpu_s, 6),
        "copied_bytes": of(proof.copied_bytes),
        "calls": of(proof.calls),
        "failed_calls": proof.failed_calls,
    }
