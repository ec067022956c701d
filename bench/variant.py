"""Bench of values on the wire: fourteen messages as GVariant bytes and as D-Bus messages, beside GLib and beside code
written by hand for each of them.

One program measures all in one run; runs alternate with nothing, medians count. Calls of malloc are counted in a run of
its own, with GLib's slices switched off, which would hide them. GLIB_PREFIX=FOLDER takes another GLib than the system's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import variant_programs
from harness.measure import BUILD, ROOT
from harness.results import Results, table

PROGRAM = BUILD / "variant/bench-variant"
COUNT_MALLOC = BUILD / "blocks/libcount-malloc.so"
TYPED_TARGET = 2.0  # times the hand-written writer
RUNTIME_TARGETS = (10.0, 1.6)  # faster than GLib, or times the hand-written writer
DBUS_TARGET = 5.0  # faster than GLib
LOOKUP_TARGETS = (1.5, 15.0)  # times the hand-written reader, and faster than GLib
VALIDATE_TARGET_NS = 20.0  # an array of 1,000 numbers


def run(results: Results, *arguments: str, preloaded: Path | None = None) -> bool:
    environment = {**os.environ, "LD_PRELOAD": "" if preloaded is None else str(preloaded), "G_SLICE": "always-malloc"}
    if preloaded is None:
        del environment["G_SLICE"]
    if prefix := os.environ.get("GLIB_PREFIX"):
        environment["LD_LIBRARY_PATH"] = f"{prefix}/lib:{prefix}/lib/x86_64-linux-gnu"
    print(" ".join([PROGRAM.name, *arguments, *([preloaded.name] if preloaded else [])]), flush=True)
    ended = subprocess.run([PROGRAM, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        results.remark(f"`{PROGRAM.name} {' '.join(arguments)}` failed (status {ended.returncode})")
        return False
    for row in json.loads(ended.stdout):
        results.add(row["case"], row["subject"], row["metric"], row["value"], row["unit"])
    return True


def shown(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below


def verdict(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def mean_gain(gains: list[float | None]) -> str:
    known = [math.log(gain) for gain in gains if gain is not None]
    return "-" if not known else f"{math.exp(sum(known) / len(known)):.1f}"


def builds(results: Results, operation: str) -> str:
    rows = []
    gains = []
    for message in results.cases_of(operation):
        case = f"{message}/{operation}"
        times = {s: results.median(case, s, "time") for s in ("tare", "tare-malloced", "hand", "glib")}
        mallocs = {s: results.median(case, s, "mallocs") for s in ("tare", "tare-malloced", "glib")}
        by_hand = ratio(times["tare"], times["hand"])
        gain = ratio(times["glib"], times["tare"])
        gains.append(gain)
        if operation == "build-typed":
            is_met = by_hand is not None and by_hand <= TYPED_TARGET
        else:
            least_gain, most_by_hand = RUNTIME_TARGETS
            is_met = (gain or 0) >= least_gain or (by_hand is not None and by_hand <= most_by_hand)
        rows.append(
            [
                message,
                *(shown(times[s]) for s in times),
                shown(by_hand, 2),
                shown(gain),
                *(shown(mallocs[s], 0) for s in mallocs),
                verdict(is_met),
            ]
        )
    header = ["message", "ns", "ns into one malloc", "by hand, ns", "GLib, ns", "ns / by hand", "GLib / ns"]
    header += ["mallocs", "into one malloc", "GLib's mallocs", "target"]
    return f"{table(header, rows)}\nGeometric mean of GLib / ns: {mean_gain(gains)}.\n"


def beside_glib(results: Results, operation: str, target: float | None) -> str:
    rows = []
    for message in results.cases_of(operation):
        case = f"{message}/{operation}"
        ours, glib = results.median(case, "tare", "time"), results.median(case, "glib", "time")
        gain = ratio(glib, ours)
        rows.append([message, shown(ours), shown(glib), shown(gain)])
        if target is not None:
            rows[-1].append(verdict((gain or 0) >= target))
    return table(["message", "ns", "GLib, ns", "GLib / ns", *(["target"] if target is not None else [])], rows)


def lookups(results: Results) -> str:
    case = "b_vardict8/lookup"
    times = {s: results.median(case, s, "time") for s in ("tare", "tare-validated", "hand", "glib")}
    by_hand, gain = ratio(times["tare"], times["hand"]), ratio(times["glib"], times["tare"])
    most, least = LOOKUP_TARGETS
    is_met = by_hand is not None and by_hand <= most and (gain or 0) >= least
    row = ["three of eight", *(shown(times[s]) for s in times), shown(by_hand, 2), shown(gain), verdict(is_met)]
    return table(
        ["look-ups", "ns", "ns, validated", "by hand, ns", "GLib, ns", "ns / by hand", "GLib / ns", "target"], [row]
    )


def ablation(results: Results) -> str:
    """A row a step; each has all steps above it, too. Gains are against the first row, times by step against the row above."""
    messages = list(dict.fromkeys(case for case, _, _ in results.samples if case.startswith("ablation/")))
    steps = list(dict.fromkeys(subject for case, subject, _ in results.samples if case.startswith("ablation/")))
    first = {case: results.median(case, steps[0], "time") for case in messages} if steps else {}
    before = dict(first)
    rows = []
    for step in steps:
        row = [step]
        for case in messages:
            time = results.median(case, step, "time")
            row += [shown(time), shown(ratio(before[case], time), 2), shown(ratio(first[case], time), 2)]
            row.append(shown(results.median(case, step, "mallocs"), 0))
            before[case] = time
        rows.append(row)
    header = ["step"]
    for case in messages:
        header += [f"{case.removeprefix('ablation/')}, ns", "gain", "gain in all", "mallocs"]
    return table(header, rows)


def growth(results: Results) -> str:
    """A row a kind of bytes, a column a size: nanoseconds a byte, which don't grow where reading is linear."""
    sizes: dict[str, dict[int, float]] = {}
    for case, subject, metric in results.samples:
        if metric == "time_per_byte":
            name, size = case.split("/")
            sizes.setdefault(name, {})[int(size)] = results.median(case, subject, metric) or 0.0
    rows = []
    for name, by_size in sizes.items():
        values = [by_size[size] for size in sorted(by_size)]
        rows.append([name.removeprefix("hostile-"), *(shown(value, 2) for value in values)])
    columns = max((len(row) for row in rows), default=1) - 1
    shown_table = table(["bytes", *(f"{4 << (2 * i)} KiB" for i in range(columns))], rows)
    return f"{shown_table}\n{graph(sizes)}"


def graph(sizes: dict[str, dict[int, float]]) -> str:
    """Time against size, both logarithmic, a letter for each kind: linear cost falls with the line of dots, which is 1 ns a
    byte.
    """
    points = [(size, ".", float(size)) for size in next(iter(sizes.values()), {})]
    legend = []
    for letter, (name, by_size) in zip("ABCDEFGH", sizes.items(), strict=False):
        legend.append(f"{letter} {name.removeprefix('hostile-')}")
        points += [(size, letter, size * each) for size, each in by_size.items() if each > 0]
    if not points:
        return ""
    # a row is a factor of two, six columns are one of four, as between the sizes: a line of slope 1 drops two rows each
    rows: dict[int, list[str]] = {}
    smallest = min(size for size, _, _ in points)
    width = 6 * (round(math.log(max(size for size, _, _ in points) / smallest, 4)) + 1)
    for size, letter, time_ns in points:
        row = rows.setdefault(round(math.log2(time_ns)), [" "] * width)
        column = 6 * round(math.log(size / smallest, 4))
        while row[column] not in (" ", ".") and column % 6 != 5:
            column += 1
        row[column] = letter
    lines = []
    for exponent in range(max(rows), min(rows) - 1, -1):
        lines.append(f"{2.0**exponent / 1000:12,.1f} us |{''.join(rows.get(exponent, [])).rstrip()}")
    kib = [(smallest << (2 * i)) // 1024 for i in range(width // 6)]
    lines.append(
        " " * 17 + "".join(f"{size}K".ljust(6) if size < 1024 else f"{size // 1024}M".ljust(6) for size in kib)
    )
    return "\n".join(["    " + line for line in [*lines, "", "  ".join(legend)]]) + "\n"


def section(results: Results, runs: int) -> str:
    version = subprocess.run(["pkg-config", "--modversion", "glib-2.0"], stdout=subprocess.PIPE, text=True, check=False)
    validation = results.median("f_ai1000/validate", "tare", "time")
    return f"""\
Times are CPU time of the thread, medians of {runs} runs, each the least of 12 batches; GLib is {version.stdout.strip()}.
All subjects' bytes are compared first and are the same. By hand means code for one message's layout that checks texts as
ours does and nothing else, not even room, into memory that is there.

### Types known to the compiler, into a buffer that is used again

Target: within {TYPED_TARGET:g} times of what is written by hand.

{builds(results, "build-typed")}
### Types known at run time, piece by piece

Target: at least {RUNTIME_TARGETS[0]:g} times as fast as GLib's builder with its bytes, or within {RUNTIME_TARGETS[1]:g} times of what is written by hand.

{builds(results, "build-runtime")}
### Complete D-Bus method calls

Beside `g_dbus_message_to_blob` with body and message made for it. Target: a fifth of its time.

{beside_glib(results, "dbus", DBUS_TARGET)}
### Three look-ups in a dictionary of eight

Of bytes that aren't validated before. Target: within {LOOKUP_TARGETS[0]:g} times of the hand-written reader, {LOOKUP_TARGETS[1]:g} times as fast as GLib.

{lookups(results)}
### A value tree, step by step

What GLib 2.83 did to its builder, on a tree of the same design (`bench/variant/value_tree.h`) in which each step is a switch: built and
freed, not serialized. Each row has the steps of all rows above it. The last two have no tree, and their value's bytes at once.

{ablation(results)}
### Validation

An array of 1,000 numbers: {shown(validation)} ns (target {VALIDATE_TARGET_NS:g}, {verdict(validation is not None and validation < VALIDATE_TARGET_NS)}).

{beside_glib(results, "validate", None)}
### Hostile bytes

Nanoseconds a byte for validating, hashing and bringing into normal form what made other readers quadratic or worse; of shared-type,
thousands of empty values of one type as long as all of them, validation alone. Below, time against size: dots are 1 ns a byte.

{growth(results)}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs (default 5)")
    parser.add_argument(
        "--section", default="variant", help="section of RESULTS.md (default variant; another GLib's wants its own)"
    )
    arguments = parser.parse_args()
    results = Results(arguments.section)
    if not PROGRAM.exists():
        print(f"{PROGRAM.relative_to(ROOT)} isn't built: make bench-variant builds it", file=sys.stderr)
        return 1
    complete = True
    for _ in range(arguments.runs):
        complete = run(results) and complete
        complete = run(results, "growth") and complete
        complete = run(results, "ablation") and complete
    complete = run(results, preloaded=COUNT_MALLOC) and complete
    complete = run(results, "ablation", preloaded=COUNT_MALLOC) and complete
    complete = variant_programs.run_all(results, arguments.runs) and complete
    body = section(results, arguments.runs) + variant_programs.section(results)
    print(body)
    print(results.write_json())
    if complete:
        print(results.write_section(body))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
