"""The variant bench's part on libtare-gvariant.so: one program that uses only GLib, run with the library preloaded and without
by turns. GLIB_PREFIX=FOLDER takes another GLib than the system's.
"""

from __future__ import annotations

import json
import math
import os
import subprocess

from harness.measure import BUILD
from harness.results import Results, table

PROGRAM = BUILD / "variant/bench-variant-preload"
PRELOAD = BUILD.parent / "src/gvariant/libtare-gvariant.so"
COUNT_MALLOC = BUILD / "blocks/libcount-malloc.so"
SUBJECTS = {"glib": [], "tare": [PRELOAD]}
MEAN_TARGET = 3.0  # times as fast as GLib 2.74, geometric mean of the fourteen messages
LOOP_TARGET = 4.0  # the loop of small and medium values
LOOP = "small-and-medium/preload"
NOISE = 0.03  # where the same code runs on both sides


def run(results: Results, subject: str, *more: object) -> bool:
    environment = {**os.environ, "LD_PRELOAD": ":".join(map(str, [*SUBJECTS[subject], *more]))}
    if more:
        environment["G_SLICE"] = "always-malloc"  # slices would hide calls of malloc
    if prefix := os.environ.get("GLIB_PREFIX"):
        environment["LD_LIBRARY_PATH"] = f"{prefix}/lib:{prefix}/lib/x86_64-linux-gnu"
    print(f"{PROGRAM.name} {subject}{' counting mallocs' if more else ''}", flush=True)
    ended = subprocess.run([PROGRAM, subject], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        results.remark(f"`{PROGRAM.name} {subject}` failed (status {ended.returncode})")
        return False
    for row in json.loads(ended.stdout):
        results.add(row["case"], row["subject"], row["metric"], row["value"], row["unit"])
    return True


def measure(results: Results, runs: int) -> bool:
    """True if all could be measured, and the bytes were the same."""
    if not PRELOAD.exists():
        results.remark("libtare-gvariant.so isn't built: no GLib headers")
        return True
    complete = True
    for _ in range(runs):
        for subject in SUBJECTS:
            complete = run(results, subject) and complete
    for subject in SUBJECTS:
        complete = run(results, subject, COUNT_MALLOC) and complete
    for case, _, metric in list(results.samples):
        both = [results.median(case, subject, metric) for subject in SUBJECTS]
        if metric == "digest" and both[0] != both[1]:
            results.remark(f"{case}: other bytes with the preload")
            complete = False
    return complete


def gain(results: Results, case: str) -> float:
    times = [results.median(case, subject, "time") or math.nan for subject in SUBJECTS]
    return times[0] / times[1]


def messages(results: Results, kind: str) -> list[str]:
    found = [case for case, subject, metric in results.samples if metric == "time" and subject == "tare"]
    return [case for case in dict.fromkeys(found) if case.endswith(f"/{kind}") and case != LOOP]


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def row(results: Results, case: str) -> list[str]:
    cells = [case.partition("/")[0]]
    for metric, digits in (("time", 0), ("mallocs", 0), ("bytes", 0)):
        for subject in SUBJECTS:
            value = results.median(case, subject, metric)
            cells.append("-" if value is None else f"{value:.{digits}f}")
    return [*cells, f"{gain(results, case):.2f}"]


def section(results: Results) -> str:
    """The part of RESULTS.md; nothing where nothing was measured."""
    built = messages(results, "preload")
    if not built:
        return ""
    header = ["message", "GLib, ns", "preload, ns", "GLib's mallocs", "preload's", "GLib's bytes", "preload's", "gain"]
    gains = [gain(results, case) for case in built]
    loop = gain(results, LOOP)
    sent, received = (
        ", ".join(f"{case.partition('/')[0]} {gain(results, case):.2f}" for case in messages(results, kind))
        for kind in ("preload-send", "preload-receive")
    )
    slower = [case for case in built if gain(results, case) < 1]

    def verdict(is_met: bool) -> str:
        return "met" if is_met else "**missed**"

    return f"""
### GLib's own functions, with libtare-gvariant.so preloaded

The same program with and without, by turns: a value built, its bytes asked for, and freed. Mallocs and bytes that they return are counted without
GLib's slices. Targets: {MEAN_TARGET:g} times GLib 2.74 in the geometric mean, {LOOP_TARGET:g} on the loop of small and medium values, none below 1.

{table(header, [row(results, case) for case in [*built, LOOP]])}
Geometric mean of the fourteen: {mean(gains):.2f} ({verdict(mean(gains) >= MEAN_TARGET)}); the loop: {loop:.2f}
({verdict(loop >= LOOP_TARGET)}); slower than GLib: {", ".join(slower) or "none"} ({verdict(not slower)}).

Through GDBus, where most of the time isn't the value's. Message made and turned into a blob: {sent}.

Message made from a blob, and its body walked (parsed by GLib on both sides, so that {NOISE:.0%} are noise): {received}.
"""
