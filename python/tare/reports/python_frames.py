"""Why the stacks of a Python program have no Python frames, in one line."""

from __future__ import annotations

_WHY = {
    "unknown-version": "only Python 3.9 to 3.14 is supported",
    "free-threaded": "builds without the global interpreter lock aren't supported",
    "unknown-layout": "its structures aren't those of this version as python.org publishes it",
}


def python_frames(state: str | None) -> list[str]:
    """`state` as process.python has it."""
    version, _, reason = (state or "").partition(": ")
    if not reason:
        return []
    return [f"stacks show functions of the interpreter instead of Python's (Python {version or '3'}): {_WHY[reason]}"]
