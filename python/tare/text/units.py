"""Numbers as a person reads them: bytes, counts, shares, durations."""

from __future__ import annotations

_STEPS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def human_bytes(count: float) -> str:
    """`1.5 MiB`, three significant digits; whole bytes below 1 KiB."""
    sign = "-" if count < 0 else ""
    size = abs(count)
    if size < 999.5:
        return f"{sign}{size:.0f} B"
    step = -1
    while size >= 999.5 and step < len(_STEPS) - 1:
        size /= 1024
        step += 1
    unit = _STEPS[step]
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{sign}{size:.{digits}f} {unit}"


def exact(count: float) -> str:
    """`5,242,880`: whole numbers with separators, as DMD prints them; a scaled figure is rounded."""
    return f"{round(count):,}"


def human_count(count: float) -> str:
    """`14.4 M` for events and calls; exact below ten thousand."""
    for limit, divisor, suffix in ((1e4, 1.0, ""), (1e6, 1e3, " k"), (1e9, 1e6, " M")):
        if abs(count) < limit:
            if divisor == 1.0:
                return f"{round(count):,}"
            return (
                f"{count / divisor:.3g}{suffix}" if abs(count) / divisor < 999.5 else f"{count / divisor:.0f}{suffix}"
            )
    return f"{count / 1e9:.3g} G"


def percent(part: float, whole: float, digits: int = 1) -> str:
    """`12.3%`; a share of nothing is a dash, never 0."""
    return f"{100 * part / whole:.{digits}f}%" if whole else "-"


def change_share(before: float, after: float) -> str:
    """`+12.3%`, `x1,006` from ten times on, `new` or `gone` where one side is nothing; empty where nothing changed."""
    if round(before) == round(after):
        return ""
    if not round(before) or not round(after):
        return "gone" if round(before) else "new"
    if after >= 10 * before > 0:
        return f"x{after / before:,.0f}"
    return f"{100 * (after - before) / before:+.1f}%"


def duration(ns: float) -> str:
    """`1.24 s`, `87 ms`, `3 min 20 s`."""
    seconds = ns / 1e9
    if seconds < 0.0995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 100:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def call_duration(ns: float) -> str:
    """`84 ns`, `1.2 us`; from a millisecond on as duration() has it."""
    if ns < 999.5:
        return f"{ns:.3g} ns"
    return f"{ns / 1e3:.3g} us" if ns < 999.5e3 else duration(ns)


def plural(count: float, one: str, many: str | None = None) -> str:
    """`1 block`, `2 blocks`; the number exact."""
    return f"{exact(count)} {one if round(count) == 1 else many or one + 's'}"
