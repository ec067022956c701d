"""Bench of the collector: the same programs compiled for tare, for the seed's way of decoding and its rejected variants, for
cppgc (Oilpan) of Debian's libnode-dev, Boehm's collector, shared_ptr, and plain pointers with new and delete.

Every round runs all programs of all subjects one after the other, each in a process of its own; medians count. A peer whose
package isn't installed has no rows, and a remark states it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from harness.measure import BUILD
from harness.results import Results, table

SUBJECTS = [
    "tare",
    "tare-seed",
    "tare-seed16",
    "tare-low",
    "tare-thread-base",
    "tare-shiftless",
    "tare-no-barrier",
    "tare-generational",
]
PEERS = ["cppgc", "boehm", "shared-ptr", "native"]
DECODED = ["chase", "dom", "retention"]  # programs for the subjects that differ in decoding alone, or in the barrier
COUNTING = [*SUBJECTS, "boehm"]  # who can say how many dead objects were kept; nothing scans stacks for the others
ONLY = {
    "binary-trees-at-once": ["tare", "tare-generational"],
    "pause": ["tare", "cppgc", "boehm"],
    "mutate": ["tare", "tare-generational"],
    "hash-set": ["tare", "native"],
    "session": ["tare", "tare-no-barrier", "tare-generational", "cppgc", "boehm"],
    "fragmented": ["tare", "native"],
}
OF_BARRIERS = ["tare-no-barrier", "tare-generational"]  # run binary-trees, too
PROGRAMS = [
    ["dom"],
    ["chase"],
    ["binary-trees", "16"],
    ["binary-trees", "18"],
    ["binary-trees-at-once", "16"],
    ["retention"],
    ["pause"],
    ["mutate"],
    ["hash-set"],
    ["session"],
    ["fragmented"],
]


def run(results: Results, subject: str, arguments: list[str]) -> None:
    program = BUILD / f"gc/bench-gc-{subject}"
    if not program.exists():
        results.remark(f"{program.name} isn't built: its package isn't installed")
        return
    print(" ".join([program.name, *arguments]), flush=True)
    ended = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        results.remark(f"`{program.name} {' '.join(arguments)}` failed (status {ended.returncode})")
        return
    for row in json.loads(ended.stdout):
        results.add(row["case"], row["subject"], row["metric"], row["value"], row["unit"])


def shown(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def ratio(results: Results, case: str, metric: str, subject: str, to: str) -> float | None:
    above, below = results.median(case, subject, metric), results.median(case, to, metric)
    return None if above is None or not below else above / below


def verdict(value: float | None, most: float) -> str:
    return "-" if value is None else "met" if value <= most else "**missed**"


def targets(results: Results) -> str:
    """The aims and the results."""
    rows = []

    def add(what: str, value: float | None, most: float) -> None:
        rows.append([what, shown(value), shown(most), verdict(value, most)])

    add("heap bytes a node of five links", results.median("dom/bytes", "tare", "bytes"), 32.5)
    add("traversal / plain pointers", ratio(results, "dom/traverse", "time", "tare", "native"), 1.0)
    add("full collection / cppgc", ratio(results, "dom/full-gc", "time", "tare", "cppgc"), 0.6)
    add("chase in L1 / plain pointers", ratio(results, "chase/known", "time", "tare", "native"), 1.3)
    add("chase in L1, seed / plain pointers", ratio(results, "chase/known", "time", "tare-seed", "native"), 1.8)
    for depth in (16, 18):
        case = f"binary-trees-{depth}"
        add(f"{case}, CPU / cppgc", ratio(results, case, "cpu", "tare", "cppgc"), 0.5)
        add(f"{case}, RSS / cppgc", ratio(results, case, "rss", "tare", "cppgc"), 1.0)
        add(f"{case}, CPU / Boehm", ratio(results, case, "cpu", "tare", "boehm"), 1.0)
    longest = results.median("pause", "tare", "time")
    add("longest pause, ms", None if longest is None else longest / 1e6, 2)
    for case in ("mutate/marking-by-steps", "mutate/marking-besides"):
        marking, idle = (results.median(c, "tare", "time") for c in (case, "mutate/idle"))
        add(f"{case} / not marking", None if marking is None or not idle else marking / idle, 1.5)
    for case, metric in (("binary-trees-16", "cpu"), ("dom/build", "time")):
        add(f"{case} / without a barrier", ratio(results, case, metric, "tare", "tare-no-barrier"), 1.05)
    for case, most in (("session", 0.6), ("binary-trees-16", 0.85), ("binary-trees-18", 0.85)):
        add(f"{case}, generational / not", ratio(results, case, "cpu", "tare-generational", "tare"), most)
    for to in ("dropped", "trimmed"):
        before = results.median(f"fragmented/{to}", "tare", "rss")
        compacted = results.median("fragmented/compacted", "tare", "rss")
        add(f"fragmented, RSS compacted / {to}", None if compacted is None or not before else compacted / before, 0.5)
    at_once = results.median("binary-trees-16/at-once", "tare", "cpu")
    without = results.median("binary-trees-16", "tare-no-barrier", "cpu")
    ratio_at_once = None if at_once is None or not without else at_once / without
    add("binary-trees-16, marked at once / without a barrier", ratio_at_once, 1.05)
    for act in ("insert", "hit", "miss"):
        add(f"hash-set/{act} / plain pointers", ratio(results, f"hash-set/{act}", "time", "tare", "native"), 1.0)
    add("kept by 10,000 native pointers", results.median("retention-pointers", "tare", "count"), 20)
    add("kept by 10,000 numbers of 32 bits", results.median("retention-u32", "tare", "count"), 50)
    return table(["", "value", "target", ""], rows)


def section(results: Results, runs: int) -> str:
    subjects = list(dict.fromkeys(subject for _, subject, _ in results.samples))
    measured = list(dict.fromkeys((case, metric) for case, _, metric in results.samples))
    rows = [
        [f"{case}, {metric}", *(shown(results.median(case, subject, metric)) for subject in subjects)]
        for case, metric in measured
    ]
    return f"""\
CPU times, medians of {runs} rounds; `rss` without what a process has before its first object. `dom` has a million nodes of five links and 8 bytes of payload; `full-gc` is one
collection of them; `chase` a ring of 256 nodes; `retention` counts objects of 256 bytes, of 1 GiB dead ones.
`pause` is the longest that 16 operations took, each of which makes a node beside a million and drops another, in CPU time of the program's thread (`wall`:
with whatever else the machine did); tare marks with Marking::Concurrent, cppgc as it does by default, Boehm's with GC_enable_incremental(). `mutate` takes
random leaves of a million nodes elsewhere; `hash-set` has 500,000 keys. `session` makes 12 million short-lived boxes beside a million nodes that stay, and puts
50,000 new nodes among them. `fragmented` drops all but a random tenth of 400,000 rows with vectors of 1 to 60 numbers: `dropped` is what is resident
after a collection, `trimmed` after trim(), `compacted` after compact() and trim() (`native`: std::vector and malloc_trim()). Without a barrier a heap marks at once: the row for that is what the barrier
takes, the other what short pauses do.

{targets(results)}
{table(["", *subjects], rows)}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--program", action="append", choices=[p[0] for p in PROGRAMS], help="only this; repeatable")
    arguments = parser.parse_args()
    results = Results("gc")
    wanted = [program for program in PROGRAMS if arguments.program is None or program[0] in arguments.program]
    for _ in range(arguments.runs):
        for program in wanted:
            for subject in SUBJECTS + PEERS:
                if subject not in ONLY.get(program[0], [subject]):
                    continue
                is_named = subject in ONLY.get(program[0], [])
                is_compared = (
                    program[0] in DECODED or is_named or (subject in OF_BARRIERS and program[0] == "binary-trees")
                )
                if subject in SUBJECTS[1:] and not is_compared:
                    continue
                if program[0] == "retention" and subject not in COUNTING:
                    continue
                run(results, subject, program)
    body = section(results, arguments.runs)
    print(body)
    print(results.write_json())
    if arguments.program is None:
        print(results.write_section(body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
