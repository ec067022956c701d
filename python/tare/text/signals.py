"""Names of signals."""

from __future__ import annotations


def signal_name(number: int) -> str:
    """`6 (SIGABRT)`; real-time signals have no names."""
    import signal

    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
