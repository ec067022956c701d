"""Budgets: limits of a recording, read from a TOML file or taken from another recording, and the check of them.

Differences between two runs of the same program (addresses, a thread's turn) must not break a build: a figure is the smallest
over all given recordings, a baseline's the largest, and a baseline may be exceeded by a headroom.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.errors import IO, USAGE, TareError
from tare.progress import warn
from tare.text.sizes import parse_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tare.analysis.recording import Recording
    from tare.lenses.lens import Lens

MOMENTS = ("peak", "end", "total")
MEASURES = ("blocks", "requested_bytes", "usable_bytes", "gross_bytes", "net_bytes", "tare_bytes", "tare_percent")
LENS_MEASURES = ("bytes_peak", "bytes_end", "bytes_total")
SITE_MEASURES = ("peak_blocks", "peak_gross_bytes", "end_gross_bytes", "calls", "tare_bytes")
# The limits of a baseline where the budget has none: each grows with another kind of mistake.
BASELINE_FIGURES = ("peak.gross_bytes", "peak.tare_bytes", "end.gross_bytes", "total.blocks", "total.requested_bytes")


class Noise(NamedTuple):
    """By how much a baseline may be exceeded: by a share of it, and by an amount where that is tiny."""

    headroom_percent: float = 2.0  # no two of 50 runs of a Python program differed by 0.2 %; 5 % must be found
    floor_bytes: float = 4096.0
    floor_blocks: float = 16.0


class Rule(NamedTuple):
    figure: str  # `peak.gross_bytes`, `lens.slop.bytes_peak`, `site.calls`
    site: str  # pattern of the function that names the site; empty: no site's
    limit: float
    may_be_absent: bool = False  # of a site: no function that fits the pattern needs to have allocated


class Budget(NamedTuple):
    rules: list[Rule]
    noise: Noise
    baseline_figures: Sequence[str]
    checkpoints: Sequence[str]


class Verdict(NamedTuple):
    name: str
    actual: float
    limit: float
    baseline: float | None  # the source of the limit
    detail: str  # the site that breaks it

    @property
    def kept(self) -> bool:
        return self.actual <= self.limit


NO_BUDGET = Budget([], Noise(), BASELINE_FIGURES, ("peak", "end"))


def read(path: str) -> Budget:
    try:
        with open(path, "rb") as file:
            text = tomllib.load(file)
    except OSError as error:
        raise TareError(IO, f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TareError(USAGE, f"{path} isn't a text file with limits: tare check FILE --budget TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise TareError(USAGE, f"{path} isn't TOML: {error}") from None
    return parse(text, path)


def parse(text: dict[str, Any], path: str) -> Budget:
    unknown = set(text) - {"budget", "site", "noise", "baseline", "series"}
    if unknown:
        raise TareError(USAGE, f"{path}: no table [{sorted(unknown)[0]}]: use budget, site, noise, baseline, series")
    rules = [Rule(figure, "", _amount(value, figure, path)) for figure, value in text.get("budget", {}).items()]
    for rule in rules:
        _check_figure(rule.figure, path)
    for entry in text.get("site", []):
        site = entry.get("function")
        if not isinstance(site, str) or not site:
            raise TareError(USAGE, f'{path}: a [[site]] needs the function that names it: function = "parse_*"')
        absent = entry.get("may_be_absent", False)
        if not isinstance(absent, bool):
            raise TareError(USAGE, f"{path}: may_be_absent needs true or false: {absent!r}")
        for figure, value in entry.items():
            if figure in ("function", "may_be_absent"):
                continue
            if figure not in SITE_MEASURES:
                raise TareError(USAGE, f"{path}: no figure '{figure}' of a site: use {', '.join(SITE_MEASURES)}")
            rules.append(Rule(f"site.{figure}", site, _amount(value, figure, path), absent))
    noise = text.get("noise", {})
    if set(noise) - set(Noise._fields):
        raise TareError(USAGE, f"{path}: [noise] has {', '.join(Noise._fields)}")
    figures = text.get("baseline", {}).get("figures", BASELINE_FIGURES)
    for figure in figures:
        _check_figure(figure, path)
    checkpoints = text.get("series", {}).get("checkpoints", NO_BUDGET.checkpoints)
    return Budget(rules, Noise(**{k: _amount(v, k, path) for k, v in noise.items()}), figures, checkpoints)


def _amount(value: Any, name: str, path: str) -> float:
    if isinstance(value, str):
        return float(parse_bytes(value, f"{path}: {name}"))
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    raise TareError(USAGE, f'{path}: {name} needs a number, or bytes such as "4M": {value!r}')


def _check_figure(figure: str, path: str) -> None:
    from tare import lenses

    where, _, measure = figure.partition(".")
    if where in MOMENTS and measure in MEASURES and not (where == "total" and measure[:4] in ("net_", "tare")):
        return
    lens, _, part = measure.rpartition(".")
    if where == "lens" and lens in lenses.NAMES and part in LENS_MEASURES:
        return
    raise TareError(
        USAGE,
        f"{path}: no figure '{figure}': use peak|end|total.{{{', '.join(MEASURES)}}} or lens.NAME.{{{', '.join(LENS_MEASURES)}}}",
    )


def figure(recording: Recording, name: str) -> float:
    where, _, measure = name.partition(".")
    if where == "lens":
        lens, _, part = measure.rpartition(".")
        totals = next((t for t in recording.ledger.lens_totals() if t.lens == lens), None)
        if totals is None:
            raise TareError(USAGE, f"check: {recording.path} can't be held to {name}: {_why_not_run(recording, lens)}")
        if part == "bytes_peak":
            _warn_of_lower_bound(recording, name, [each for each in recording.ledger.lenses if each.name == lens])
        return float(getattr(totals, part))
    moment = recording.moments[where]
    if not recording.has_tare and (measure == "tare_percent" or getattr(moment, measure) is None):
        source = recording.process["imported_from"]
        raise TareError(USAGE, f"check: {recording.path} can't be held to {name}, which {source} doesn't record")
    if where == "peak" and measure in ("tare_bytes", "tare_percent"):
        _warn_of_lower_bound(recording, name, [each for each in recording.ledger.lenses if each.weight == "tare"])
    if measure == "tare_percent":
        return 100 * (moment.tare_bytes or 0.0) / moment.gross_bytes if moment.gross_bytes else 0.0
    return float(getattr(moment, measure) or 0.0)


def _warn_of_lower_bound(recording: Recording, name: str, summed: Sequence[Lens]) -> None:
    """A limit that holds because the lenses saw little of the peak proves nothing."""
    unsure = [lens.name for lens in summed if lens.needs == "snapshots"]
    snapshot = recording.snapshot if unsure else None
    if snapshot is not None and not snapshot.is_enough:
        warn(f"{recording.path}: {name} is a lower bound, because {', '.join(unsure)} read {snapshot.words}")


def _why_not_run(recording: Recording, name: str) -> str:
    from tare import lenses

    try:
        lenses.check_runnable(lenses.load(name), recording.process)
    except TareError as error:
        return error.message
    return f"lens {name} didn't run"


def check(recordings: Sequence[Recording], baselines: Sequence[Recording], budget: Budget) -> list[Verdict]:
    """The rules of the budget, then the baseline's."""
    verdicts = [_site(recordings, rule) if rule.site else _whole(recordings, rule) for rule in budget.rules]
    if baselines:
        verdicts += _against(recordings, baselines, budget)
    return verdicts


def _whole(recordings: Sequence[Recording], rule: Rule) -> Verdict:
    return Verdict(rule.figure, min(figure(each, rule.figure) for each in recordings), rule.limit, None, "")


def _site(recordings: Sequence[Recording], rule: Rule) -> Verdict:
    """The sum over all sites whose naming function matches the pattern; the largest is named."""
    measure = rule.figure.removeprefix("site.")
    found = []
    measured = False
    for recording in recordings:
        values = [
            (getattr(sums, measure), stack[0])
            for stack, sums in _sites(recording)
            if stack and fnmatchcase(stack[0].function, rule.site)
        ]
        measured = measured or bool(values)
        largest = max(values, key=lambda pair: pair[0], default=None)
        found.append((sum(value for value, _ in values), str(largest[1]) if largest else ""))
    if not measured and not rule.may_be_absent:
        files = ", ".join(recording.path for recording in recordings)
        raise TareError(
            USAGE,
            f"check: no function that fits '{rule.site}' names a site of {files}: mend the pattern, or allow it with may_be_absent = true",
        )
    actual, detail = min(found)
    return Verdict(f"{rule.figure} of {rule.site}", actual, rule.limit, None, detail)


def _sites(recording: Recording) -> Iterator[tuple[Any, Any]]:
    from tare.analysis.difference import site_sums

    for stack, sums, _ in site_sums(recording).values():
        yield stack, sums


def allowed(before: float, name: str, noise: Noise) -> float:
    """The limit of a figure for a baseline of `before`."""
    floor = noise.floor_blocks if name.endswith("blocks") else noise.floor_bytes if "bytes" in name else 0.0
    return before * (1 + noise.headroom_percent / 100) + floor


def _against(recordings: Sequence[Recording], baselines: Sequence[Recording], budget: Budget) -> Iterator[Verdict]:
    noise = budget.noise
    # Tare is comparable only over lenses that ran in all.
    ran = [{lens.name for lens in each.ledger.lenses} for each in (*recordings, *baselines)]
    not_in_all = sorted({name for names in ran for name in names if not all(name in each for each in ran)})
    for name in budget.baseline_figures:
        if "tare" in name and not_in_all:
            why = (
                f"{', '.join(not_in_all)} didn't run over all recordings: record them with the same options of tare run"
            )
            if budget.baseline_figures is not BASELINE_FIGURES:
                raise TareError(USAGE, f"check: {name} can't be compared with the baseline: {why}")
            warn(f"{name} isn't compared with the baseline: {why}")
            continue
        before = max(figure(each, name) for each in baselines)
        limit = allowed(before, name, noise)
        actual = min(figure(each, name) for each in recordings)
        yield Verdict(f"{name} against the baseline", actual, limit, before, "")
