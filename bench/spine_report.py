"""The spine bench's tables: ratios to the peers first, then every median."""

from __future__ import annotations

from harness.results import Results, table
from spine_cases import Case

# The aims: added CPU of everything against heaptrack's whole; inside the program against its recorder
CONTENT_TARGET = 1.5
WHOLE_TARGET = 0.25
RECORDER_TARGETS = {"git": 0.65}
RECORDER_TARGET = 0.5
DISK_TARGETS = {"stress": 5.0}
DISK_TARGET = 2.0


def added(results: Results, case: str, subject: str, metric: str) -> float | None:
    value = results.median(case, subject, metric)
    native = results.median(case, "native", metric)
    return None if value is None or native is None else value - native


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None or below <= 0 else above / below


def shown(value: float | None, target: float | None = None) -> str:
    if value is None:
        return "-"
    text = f"{value:.2f}"
    return text if target is None else f"{text} (target {target:g}{'' if value <= target else ', **missed**'})"


def headline(results: Results, cases: list[Case]) -> str:
    rows = []
    for case in cases:
        name = case.name
        events = results.median(name, "tare", "count")
        tare_added = added(results, name, "tare", "cpu")
        rows.append(
            [
                name,
                "-" if events is None else f"{events / 1e6:.2f}",
                shown(results.median(name, "native", "cpu")),
                shown(tare_added),
                "-" if tare_added is None or not events else f"{tare_added / events * 1e9:.0f}",
                shown(ratio(tare_added, added(results, name, "heaptrack", "cpu")), WHOLE_TARGET),
                shown(
                    ratio(
                        added(results, name, "tare", "program_cpu"),
                        added(results, name, "heaptrack-recorder", "program_cpu"),
                    ),
                    RECORDER_TARGETS.get(name, RECORDER_TARGET),
                ),
                shown(
                    ratio(results.median(name, "tare-content", "cpu"), results.median(name, "tare", "cpu")),
                    CONTENT_TARGET,
                ),
                shown(results.median(name, "tare", "disk_per_event"), DISK_TARGETS.get(name, DISK_TARGET)),
                shown(
                    ratio(
                        results.median(name, "tare", "analysis_cpu"), results.median(name, "heaptrack", "analysis_cpu")
                    ),
                    1.0,
                ),
            ]
        )
    header = [
        "case",
        "M events",
        "native CPU s",
        "tare adds s",
        "ns an event",
        "of heaptrack's whole",
        "in the program, of heaptrack's recorder",
        "--content, of tare",
        "disk B an event",
        "report, of interpret + print",
    ]
    return table(header, rows)


def medians(results: Results, cases: list[Case]) -> str:
    columns = ["cpu", "program_cpu", "wall", "rss", "disk_per_event", "analysis_cpu", "analysis_rss"]
    rows = []
    for case in cases:
        subjects = dict.fromkeys(subject for name, subject, _ in results.samples if name == case.name)
        for subject in subjects:
            row = [case.name, subject]
            for metric in columns:
                value = results.median(case.name, subject, metric)
                if value is None:
                    row.append("-")
                elif metric.endswith("rss"):
                    row.append(f"{value / 1e6:.0f}")
                else:
                    row.append(f"{value:.3f}")
            spread = results.spread(case.name, subject, "cpu")
            row.append("-" if spread is None else f"{spread[0]:.3f} to {spread[1]:.3f}")
            rows.append(row)
    header = [
        "case",
        "subject",
        "CPU s",
        "program's CPU s",
        "wall s",
        "RSS MB",
        "disk B an event",
        "analysis CPU s",
        "analysis RSS MB",
        "CPU from, to",
    ]
    return table(header, rows)


def section(results: Results, cases: list[Case], runs: int) -> str:
    what = "\n".join(f"- {case.name}: {case.what}" for case in cases)
    return f"""\
CPU is user and system time of all processes a subject starts; tare's holds its start-up, compression and summary, with no
symbols cached from earlier runs. Medians of {runs} interleaved runs. "Adds" is what lies above native. heaptrack is
Debian's package; heaptrack-recorder is its library alone, writing its raw trace to disk; memray runs with --native.

{what}

{headline(results, cases)}
{medians(results, cases)}"""
