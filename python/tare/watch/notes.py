"""The note beside a process' final snapshot: how the process ended, as JSON that anybody may have written."""

from __future__ import annotations

import json
import os
import stat
from typing import Any, NamedTuple

from tare.watch import oom
from tare.watch.oom import Verdict
from tare.watch.store import NOTE

_MOST_BYTES = 64 << 10
_MOST_TEXT = 4096


class Note(NamedTuple):
    reason: str  # of the snapshot: killed, ended, silent
    program: str
    pid: int
    image: str
    live_bytes: float
    live_bytes_error: float
    sample_bytes: int
    updated_ns: int  # when the process wrote its file last, since 1970
    seen_ns: int  # when the watcher saw it alive last; 0: never
    found_ns: int  # when the watcher found it dead
    stopped: str
    oom: Verdict
    signal: int = 0  # that ended it, where the watcher started the process; 0: unknown


def packed(note: Note) -> bytes:
    fields = {**note._asdict(), "oom": note.oom._asdict()}
    return (json.dumps({"tare_watch_note": 1, **fields}, ensure_ascii=True) + "\n").encode()


def beside(trace: str) -> Note | None:
    """None: no note, or none that Tare wrote."""
    try:
        fd = os.open(f"{trace}{NOTE}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            return unpacked(file.read(_MOST_BYTES + 1))
    except OSError:
        return None


def unpacked(data: bytes) -> Note | None:
    if len(data) > _MOST_BYTES:
        return None
    try:
        fields = json.loads(data)
        verdict = fields["oom"]
        made = Note(
            **{name: _checked(fields[name], kind) for name, kind in _FIELDS.items()},
            oom=Verdict(**{name: _checked(verdict[name], kind) for name, kind in _VERDICT.items()}),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return made if made.oom.verdict in (oom.YES, oom.LIKELY, oom.NO, oom.UNKNOWN) else None


_FIELDS: dict[str, tuple[type, ...]] = {
    "reason": (str,),
    "program": (str,),
    "pid": (int,),
    "image": (str,),
    "live_bytes": (int, float),
    "live_bytes_error": (int, float),
    "sample_bytes": (int,),
    "updated_ns": (int,),
    "seen_ns": (int,),
    "found_ns": (int,),
    "stopped": (str,),
    "signal": (int,),
}
_MAYBE = (int, type(None))
_VERDICT: dict[str, tuple[type, ...]] = {
    "verdict": (str,),
    "group": (str,),
    "before": _MAYBE,
    "after": _MAYBE,
    "deaths": (int,),
    "limit_bytes": _MAYBE,
}


def _checked(value: Any, kinds: tuple[type, ...]) -> Any:
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise TypeError
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        raise ValueError
    if isinstance(value, (int, float)) and not abs(value) < 1 << 62:  # NaN, too
        raise ValueError
    return value
