"""A series over commits, as areweslimyet.com kept: one line a recording in a JSON Lines file, drawn in the terminal."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NamedTuple

from tare.errors import IO, USAGE, TareError
from tare.text.terminal import shorten
from tare.text.units import change_share, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.text.terminal import Style

_BARS = "▁▂▃▄▅▆▇█"


class Entry(NamedTuple):
    label: str
    checkpoints: dict[str, float]  # gross bytes by checkpoint

    @property
    def score(self) -> float:
        """The geometric mean, so that a small checkpoint's doubling counts as much as a large one's."""
        values = [max(value, 1.0) for value in self.checkpoints.values()]
        return math.exp(sum(math.log(value) for value in values) / len(values)) if values else 0.0


def read(path: str) -> list[Entry]:
    entries = []
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                try:
                    row = json.loads(line)
                    entries.append(Entry(str(row["label"]), {str(k): float(v) for k, v in row["checkpoints"].items()}))
                except (ValueError, KeyError, TypeError, AttributeError):
                    raise TareError(USAGE, f"{path}:{number} isn't a line that --series wrote") from None
    except UnicodeDecodeError:
        raise TareError(USAGE, f"{path} isn't a series that tare check --series wrote") from None
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TareError(IO, f"{path}: {error.strerror}") from None
    return entries


def append(path: str, entry: Entry) -> None:
    """One write of one line: two builds at once don't mix theirs."""
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"label": entry.label, "checkpoints": entry.checkpoints}, ensure_ascii=False) + "\n")
    except OSError as error:
        raise TareError(IO, f"{path}: {error.strerror}") from None


def lines(entries: Sequence[Entry], width: int, style: Style) -> Iterator[str]:
    """A line a checkpoint and one of the score: its course, the last value, its change from the one before."""
    if not entries:
        yield "the series is empty"
        return
    names = list(dict.fromkeys(name for entry in entries for name in entry.checkpoints))
    rows = [(name, [entry.checkpoints.get(name) for entry in entries]) for name in names]
    rows.append(("geometric mean", [entry.score for entry in entries]))
    label = max(len(name) for name, _ in rows)
    room = max(width - label - 24, 8)
    yield shorten(heading(entries), width)
    for name, values in rows:
        shown = values[-room:]
        known = [value for value in values if value is not None]
        if not known:
            continue
        change = change_share(known[-2], known[-1]) if len(known) > 1 else ""
        look = "red" if change.startswith("+") else "green" if change.startswith("-") else "dim"
        yield (
            f"{name:<{label}}  {style(course(shown), 'cyan')}  {human_bytes(known[-1]):>9}  "
            + (style(change, look) if change else "")
        ).rstrip()


def heading(entries: Sequence[Entry]) -> str:
    first, last = entries[0].label, entries[-1].label
    return f"1 recording, {last}" if len(entries) == 1 else f"{len(entries)} recordings, {first} to {last}"


def course(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    step = (high - low) / (len(_BARS) - 1) or 1.0
    return "".join(" " if value is None else _BARS[round((value - low) / step)] for value in values)
