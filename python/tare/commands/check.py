"""`tare check`: holds recordings against a budget or a baseline, for builds that must not grow."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tare.commands.fleet.options import add_where
from tare.commands.options import add_json, add_suppressions
from tare.errors import IO, USAGE, TareError
from tare.fleet.remote import location
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from tare.analysis.budget import Budget, Verdict
    from tare.analysis.culprits import Culprit
    from tare.analysis.recording import Recording
    from tare.exports.broken import Broken

SYNOPSIS = "tare check FILE ... [--budget TOML] [--baseline FILE] [--fleet STORE] [options]"
HELP = (
    "Compares recordings with the limits in a TOML file, or with a baseline: another recording. If a limit is exceeded, the\n"
    "exit status is 1. With several recordings of one program, the smallest value of each figure counts, against noise.\n"
    "A figure may exceed a baseline by 2 % (`[noise]` in TOML changes this), but no limit of a budget."
)
EXAMPLES = """
tare check app.tare --budget tare.toml
tare check app.tare --baseline main.tare --junit heap.xml
tare check a.tare b.tare c.tare --budget tare.toml --json
tare check app.tare --series heap.jsonl --label "$(git rev-parse --short HEAD)"
tare check app.tare --baseline main.tare --github --sarif heap.sarif    for code review
tare check app.tare --fleet fleet/ --where build=1.4*                   limits from recordings of earlier builds
tare check --series heap.jsonl                     only draw the series
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="a trace; of several, the smallest figures count")
    parser.add_argument("--budget", metavar="TOML", help="the file with the limits")
    parser.add_argument(
        "--baseline", action="append", default=[], metavar="FILE", help="a trace to compare with; repeatable"
    )
    parser.add_argument(
        "--fleet",
        metavar="STORE",
        type=location,
        help="a store of `tare fleet add`: its recordings of the program are the limits",
    )
    add_where(parser, "only recordings of the store that fit")
    parser.add_argument("--junit", metavar="FILE", help="also write the result as a JUnit file")
    parser.add_argument("--sarif", metavar="FILE", help="also write broken limits as SARIF, for code scanning")
    parser.add_argument("--gitlab", metavar="FILE", help="also write broken limits as GitLab's Code Quality")
    parser.add_argument("--bmf", metavar="FILE", help="also write the figures and limits as Bencher's metrics")
    parser.add_argument(
        "--github", action="store_true", help="also print annotations of GitHub Actions, and add to the step's summary"
    )
    parser.add_argument("--series", metavar="FILE", help="append the checkpoints to this series, and draw the series")
    parser.add_argument(
        "--label", metavar="TEXT", default="", help="the recording's name in the series, such as a commit"
    )
    add_suppressions(parser)
    add_json(parser, "print the result as one JSON object")


def run(options: argparse.Namespace) -> int:
    from tare.analysis import budget as budgets
    from tare.reports import check_report
    from tare.reports.json_report import dump
    from tare.text.terminal import Style, width_of

    if options.files and not (options.budget or options.baseline or options.fleet or options.series):
        raise TareError(
            USAGE, "check: missing limits: give --budget TOML, --baseline FILE, --fleet STORE or --series FILE"
        )
    if options.where and not options.fleet:
        raise TareError(USAGE, "check: --where selects recordings of a store: give --fleet STORE")
    if not options.files and (not options.series or options.budget or options.baseline or options.fleet):
        raise TareError(USAGE, "check: missing FILE: give a trace (`tare check --help` has examples)")
    budget = budgets.read(options.budget) if options.budget else budgets.NO_BUDGET
    recordings = _open(options.files, options.suppressions)
    baselines = _open(options.baseline, options.suppressions)
    _warn_of_other_programs([*options.files, *options.baseline], [*recordings, *baselines])
    verdicts = budgets.check(recordings, baselines, budget) if recordings else []
    if options.fleet:
        from tare.fleet.limits import against
        from tare.fleet.store import Store

        verdicts += against(Store(options.fleet, options.where), recordings, budget.noise)
    if options.budget and not budget.rules and not baselines and not options.series and not options.fleet:
        raise TareError(USAGE, f"check: {options.budget} has no limits: write some under [budget] or [[site]]")
    if options.junit:
        program = recordings[0].process["program"] if recordings else ""
        _write(options.junit, check_report.junit(verdicts, program).encode())
    if options.sarif or options.gitlab or options.bmf or options.github:
        _write_reviews(options, verdicts, recordings, baselines)
    if options.series and recordings:
        _add_to_series(options, recordings, budget)
    if options.json:
        print(dump(check_report.as_json(verdicts)))
    else:
        style, width = Style(sys.stdout), width_of(sys.stdout)
        if verdicts:
            say(check_report.lines(verdicts, style, width, _sites(verdicts, recordings, baselines)))
        if options.series:
            from tare.analysis import series

            say(series.lines(series.read(options.series), width, style))
    return 0 if all(verdict.kept for verdict in verdicts) else 1


def _warn_of_other_programs(files: Sequence[str], recordings: Sequence[Recording]) -> None:
    from tare.progress import warn

    programs = [recording.process["program"] for recording in recordings]
    for file, program in zip(files, programs, strict=True):
        if program != programs[0]:
            warn(f"{file} is a recording of {program}, {files[0]} of {programs[0]}: their figures are compared")
            return


def _write(path: str, content: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise TareError(IO, f"{path}: {error.strerror}") from None


def _write_reviews(
    options: argparse.Namespace,
    verdicts: Sequence[Verdict],
    recordings: Sequence[Recording],
    baselines: Sequence[Recording],
) -> None:
    """For services of code review, each broken limit at the lines behind it."""
    from tare.exports import broken as reviews

    found = _broken(verdicts, recordings, baselines, options.budget or next(iter(options.files), "."))
    title = recordings[0].process["program"] if recordings else ""
    if options.sarif:
        _write(options.sarif, reviews.sarif(found))
    if options.gitlab:
        _write(options.gitlab, reviews.gitlab(found))
    if options.bmf:
        _write(options.bmf, reviews.bmf(verdicts, title))
    if options.github:
        # GitHub reads both streams; programs read the JSON.
        (sys.stderr if options.json else sys.stdout).write(reviews.github(found, title))


def _broken(
    verdicts: Sequence[Verdict], recordings: Sequence[Recording], baselines: Sequence[Recording], file: str
) -> list[Broken]:
    """`file`: the place of limits without a known site."""
    from tare.analysis.culprits import culprits
    from tare.exports.broken import Broken
    from tare.reports.check_report import sentence, site_sentence

    if not recordings:
        return []
    found = []
    for verdict, sites in culprits(verdicts, recordings[0], baselines):
        found += [Broken(verdict.name, site_sentence(each), each.frame, file) for each in sites]
        if not sites:
            found.append(Broken(verdict.name, sentence(verdict), None, file))
    return found


def _sites(
    verdicts: Sequence[Verdict], recordings: Sequence[Recording], baselines: Sequence[Recording]
) -> dict[str, list[Culprit]]:
    """Behind each broken limit, by its name."""
    from tare.analysis.culprits import culprits

    return (
        {verdict.name: sites for verdict, sites in culprits(verdicts, recordings[0], baselines)} if recordings else {}
    )


def _open(files: Sequence[str], suppressions: Sequence[str]) -> list[Recording]:
    from tare.analysis.recording import Recording
    from tare.source.core_source import CoreSource

    return [Recording(CoreSource(file, suppressions=suppressions)) for file in files]


def _add_to_series(options: argparse.Namespace, recordings: Sequence[Recording], budget: Budget) -> None:
    from tare.analysis import budget as budgets
    from tare.analysis import series
    from tare.source.core_source import CoreSource

    named = [CoreSource(file).named_snapshots() for file in options.files]
    wanted = list(budget.checkpoints)
    if budget.checkpoints is budgets.NO_BUDGET.checkpoints:  # none are chosen: all that every recording has
        wanted[:0] = [name for name in named[0] if all(name in each for each in named) and name not in wanted]
    checkpoints = {
        name: min(
            _at(file, each, name, snapshots)
            for file, each, snapshots in zip(options.files, recordings, named, strict=True)
        )
        for name in wanted
    }
    label = options.label or recordings[0].process["program"]
    series.append(options.series, series.Entry(label, checkpoints))


def _at(file: str, recording: Recording, checkpoint: str, named: Mapping[str, int]) -> float:
    """Gross bytes at a checkpoint: a named snapshot, peak, end, or a time."""
    if checkpoint in ("peak", "end") and checkpoint not in named:
        return recording.moments[checkpoint].gross_bytes
    from tare.analysis.records import parse_time
    from tare.source.core_source import CoreSource

    try:
        at_ns = named[checkpoint] if checkpoint in named else parse_time(checkpoint)
    except TareError:
        raise TareError(
            USAGE, f"check: {file} has no checkpoint '{checkpoint}': use a snapshot's name, peak, end or a time"
        ) from None
    return float(CoreSource(file, at_ns=at_ns).process()["at_gross_bytes"])
