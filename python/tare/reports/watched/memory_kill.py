"""Kills for lack of memory: the sentence that reports of watched and of recorded programs share, and the facts of a recording."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tare.text.signals import signal_name
from tare.text.units import human_bytes, plural
from tare.watch import oom
from tare.watch.oom import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.analysis.recording import Recording


def sentence(verdict: Verdict, *, signal: int = 0, kind: str = "", seen: str = "", ended: str = "") -> str:
    """How the process ended. `kind`: `watched` or `recorded`. `seen`: between which times the counter was read. `ended`: the end, where
    it isn't known as such a kill."""
    by_signal = f" (signal {signal_name(signal)})" if signal else ""
    counted = ""
    if verdict.before is not None and verdict.after is not None:
        whose = f"the control group {verdict.group}" if verdict.group else "the machine"
        kills = verdict.after - verdict.before
        numbers = f"{verdict.before} to {verdict.after}" if kills else str(verdict.before)
        how_many = plural(kills, "such kill") if kills else "no such kill"
        counted = f"{whose} counted {how_many} ({numbers}) {seen}".rstrip()
    limit = f"; its memory limit was {human_bytes(verdict.limit_bytes)}" if verdict.limit_bytes else ""
    if verdict.verdict == oom.YES:
        return f"the process was killed by the out-of-memory killer{by_signal}: {counted}{limit}"
    if verdict.verdict == oom.LIKELY:
        others = f", in which {verdict.deaths} {kind} processes ended" if verdict.deaths > 1 else ""
        return f"the process was probably killed by the out-of-memory killer{by_signal}: {counted}{others}{limit}"
    ended = ended or f"the process was killed by a signal or crashed{by_signal}"
    if verdict.verdict == oom.NO:
        return f"{ended}; it was no out-of-memory kill: {counted}"
    if counted:
        return f"{ended}; it may have been an out-of-memory kill: {counted}"
    return f"{ended}; whether it was an out-of-memory kill is unknown: no counter could be read before and after"


def verdict_of(process: Mapping[str, Any]) -> Verdict | None:
    """Of a recorded process; None: no kill was counted, or its end wasn't seen."""
    if process["out_of_memory"] is None:
        return None
    return Verdict(
        process["out_of_memory"],
        process["memory_group"] or "",
        process["memory_kills_before"],
        process["memory_kills_after"],
        process["memory_deaths"],
        process["memory_limit_bytes"],
    )


def recorded_end(recording: Recording) -> str:
    """Of a program that was killed, with the heap then. Empty: no kill for lack of memory was counted."""
    process = recording.process
    verdict = verdict_of(process)
    if verdict is None:
        return ""
    status = process["wait_status"]
    signal = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else 0
    unlimited = ""
    if verdict.verdict != oom.UNKNOWN and not verdict.limit_bytes:
        unlimited = "; no memory limit of its control groups is visible: the machine's memory may have been used up"
    about = "~" if recording.sampled else ""
    heap = f"; {about}{human_bytes(recording.moments['end'].gross_bytes)} of the heap were live then"
    resident = (
        f", and its RSS was at most {human_bytes(process['peak_rss_bytes'])}" if process["peak_rss_bytes"] else ""
    )
    ended = f"the program was killed by signal {signal_name(signal)}" if signal else ""
    how = sentence(verdict, signal=signal, kind="recorded", ended=ended)
    return f"{how}{unlimited}{heap}{resident}; all events until then are recorded"


def as_json(recording: Recording) -> dict[str, Any] | None:
    """None: no kill for lack of memory was counted."""
    verdict = verdict_of(recording.process)
    if verdict is None:
        return None
    return {
        **facts(verdict),
        "live_gross_bytes": round(recording.moments["end"].gross_bytes),
        "peak_rss_bytes": recording.process["peak_rss_bytes"],
    }


def facts(verdict: Verdict) -> dict[str, Any]:
    return {
        "out_of_memory": verdict.verdict,
        "group": verdict.group or None,
        "kills_before": verdict.before,
        "kills_after": verdict.after,
        "limit_bytes": verdict.limit_bytes,
        "deaths": verdict.deaths,
    }
