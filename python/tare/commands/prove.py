"""`tare prove`: the remedies of findings performed on the recording's own calls."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tare.commands.options import add_json, add_rows, add_runs, add_suppressions, at_least_one
from tare.errors import IO, USAGE, TareError
from tare.proofs.runs import ENOUGH_S, LEAST_RUNS, MOST_RUNS
from tare.text.printable import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tare.proofs.plan import Planned
    from tare.reports.proof_report import Proven

SYNOPSIS = "tare prove FILE [--finding N | --lens LENS,... | --all] [--runs N] [--json]"
HELP = (
    "Rewrites the recorded calls as if the remedy of a finding were in the source, and performs them beside the unchanged\n"
    "calls, in turn, under the program's own allocator. Shows what the remedy changes: peak RSS, RSS over time, page faults,\n"
    "CPU time of the calls, copied bytes. The program itself isn't run."
)
EXAMPLES = """
tare prove app.tare                        the five best findings, each alone and all together
tare prove app.tare --finding 2            one finding, by its number in that list
tare prove app.tare --lens headers,churn   the findings of two lenses
tare prove app.tare --all --json           all findings
"""

_FINDINGS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace of `tare run` with all calls (not --sample)")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--finding", type=at_least_one, metavar="N", help="only the finding with this number in the list of all"
    )
    chosen.add_argument("--lens", metavar="LENS,...", help="only the findings of these lenses")
    chosen.add_argument("--all", action="store_true", help="all findings")
    add_rows(parser, _FINDINGS, "findings, the best first")
    described = f"{MOST_RUNS}, or {LEAST_RUNS} if they take {ENOUGH_S:.0f} s"
    add_runs(parser, None, "runs of each script, for medians and ranges", described)
    add_suppressions(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    proven = _prove(options)
    if options.json:
        from tare.reports.json_report import dump
        from tare.reports.proof_report import as_json

        print(dump(as_json(proven)))
        return 0
    from tare.reports.proof_report import lines
    from tare.text.terminal import width_of

    if not proven.planned:
        print("no findings above the thresholds of the lenses")
    else:
        say(lines(proven, width_of(sys.stdout)))
    return 0


def _prove(options: argparse.Namespace) -> Proven:
    from tare import lenses
    from tare.allocator_replay.scripts import write_scripts
    from tare.analysis.recording import Recording
    from tare.proofs.measure import measure
    from tare.proofs.plan import plan, together, worth_together
    from tare.reports.proof_report import Proven
    from tare.source.core_source import CoreSource
    from tare.source.scratch import scratch_folder

    named = lenses.load_named(options.lens) if options.lens is not None else []
    if options.lens is not None and not named:
        raise TareError(USAGE, f"prove: --lens needs lenses: {', '.join(lenses.NAMES)}")
    source = CoreSource(options.file, suppressions=options.suppressions)
    recording = Recording(source, lenses.names_for(named, source.process()))
    for lens in named:
        lenses.check_runnable(lens, recording.process)
    if recording.process["sample_bytes"]:
        raise TareError(USAGE, "prove: a sampled recording doesn't contain all calls: record without --sample")
    every = plan(recording)
    planned = _chosen(every, options, {lens.name for lens in named})
    performed = [each for each in planned if each.rules]
    allocator = recording.process["allocator"]
    if not performed:
        return Proven(planned, {}, None, None, 0, allocator, None, None, len(every))
    rules = [[rule.in_group(each.number) for rule in each.rules] for each in performed]
    if len(performed) > 1:
        rules.append([rule.in_group(number) for rule, number in together(performed)])
    with scratch_folder("tare-prove-") as folder:
        scripts, recorded = write_scripts(
            options.file,
            [(os.path.join(folder, str(number)), each) for number, each in enumerate([[], *rules])],
        )
        if not recorded.allocator_exists:
            raise TareError(
                IO, f"prove: the program's allocator isn't at {recorded.allocator.library} any more: install it again"
            )
        measured = measure(scripts[0], scripts[1:], recorded, options.runs)
    proofs = {each.number: proof for each, proof in zip(performed, measured.proofs, strict=False)}
    all_together = measured.proofs[-1] if len(performed) > 1 else None
    expected = worth_together(recording, performed) if all_together else None
    outside, peak_rss = measured.outside_bytes, recorded.peak_rss_bytes
    return Proven(planned, proofs, all_together, expected, measured.runs, allocator, outside, peak_rss, len(every))


def _chosen(every: Sequence[Planned], options: argparse.Namespace, lenses: set[str]) -> Sequence[Planned]:
    if options.finding is not None:
        if options.finding > len(every):
            raise TareError(USAGE, f"prove: no finding {options.finding}: the recording has {len(every)}")
        found = every[options.finding - 1]
        if not found.rules:
            reason = getattr(found.simulation, "reason", "")
            raise TareError(
                USAGE, f"prove: finding {options.finding} ({found.finding.lens}) can't be performed: {reason}"
            )
        return [found]
    if lenses:
        return [each for each in every if each.finding.lens in lenses]
    return every if options.all or options.rows is None else every[: options.rows]
