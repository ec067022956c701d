"""libtare-gvariant.so: one program that uses only GLib, run with the library preloaded and without by turns.

    make bench-variant-preload

GLIB_PREFIX=FOLDER takes the GLib that is installed there instead of the system's, and has its own part of RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

from harness.measure import BUILD
from harness.results import Results, table

PROGRAM = BUILD / "variant/bench-variant-preload"
PRELOAD = BUILD.parent / "src/gvariant/libtare-gvariant.so"
COUNT_MALLOC = BUILD / "blocks/libcount-malloc.so"
SUBJECTS = {"glib": [], "tare": [PRELOAD]}
MEAN_TARGET = 3.0  # times as fast as GLib 2.74, geometric mean of the fourteen messages
LOOP_TARGET = 4.0  # the loop of small and medium values
LOOP = "small-and-medium/preload"
# GLib since 2.84 makes values of bytes without a lock, and small ones in one block: a target for each kind instead.
NEWER_SINCE = (2, 84)
NEWER_TARGET = 3.0
NEWER_KINDS = ("a_rect_add", "b_vardict8", "d_ibus_enginedesc")  # (iiii), a{sv} and a medium message
NOISE = 0.03  # where the same code runs on both sides


PREFIX = os.environ.get("GLIB_PREFIX")


def library_folders() -> list[Path]:
    base = Path(PREFIX or "/usr") / "lib"
    return [base, base / "x86_64-linux-gnu"]


def glib_version() -> tuple[int, int, int]:
    """By the file's name: libglib-2.0.so.0.7400.6 is 2.74.6."""
    for folder in library_folders():
        if (library := folder / "libglib-2.0.so.0").exists():
            found = re.search(r"\.so\.0\.(\d+)\.(\d+)$", str(library.resolve()))
            if found:
                return 2, int(found[1]) // 100, int(found[1]) % 100 or int(found[2])
    raise SystemExit(f"variant_preload.py: no libglib-2.0.so.0 in {library_folders()[0]}")


def run(results: Results, subject: str, *more: object) -> bool:
    environment = {**os.environ, "LD_PRELOAD": ":".join(map(str, [*SUBJECTS[subject], *more]))}
    if more:
        environment["G_SLICE"] = "always-malloc"  # slices would hide calls of malloc
    if PREFIX:
        environment["LD_LIBRARY_PATH"] = ":".join(str(folder) for folder in library_folders())
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
    slower = [case.partition("/")[0] for case in built if gain(results, case) < 1]

    def verdict(is_met: bool) -> str:
        return "met" if is_met else "**missed**"

    version = glib_version()
    if version >= NEWER_SINCE:
        newer = [(case, gain(results, f"{case}/preload")) for case in NEWER_KINDS]
        aim = f"{NEWER_TARGET:g} times GLib on each of {', '.join(NEWER_KINDS)}"
        outcome = "; ".join(f"{case} {value:.2f} ({verdict(value >= NEWER_TARGET)})" for case, value in newer)
    else:
        aim = f"{MEAN_TARGET:g} times GLib in the geometric mean, {LOOP_TARGET:g} on the loop of small and medium values, none below 1"
        outcome = f"mean ({verdict(mean(gains) >= MEAN_TARGET)}); loop ({verdict(loop >= LOOP_TARGET)}); none below 1 ({verdict(not slower)})"

    return f"""GLib {".".join(map(str, version))}. The same program with the library and without, by turns: a value built, its bytes asked for, and freed.
Mallocs and bytes that they return are counted without GLib's slices. Targets: {aim}.

{table(header, [row(results, case) for case in [*built, LOOP]])}
Geometric mean of the fourteen: {mean(gains):.2f}; the loop: {loop:.2f}; slower than GLib: {", ".join(slower) or "none"}.
Targets: {outcome}.

Through GDBus, where most of the time isn't the value's. Message made and turned into a blob: {sent}.

Message made from a blob, and its body walked (parsed by GLib on both sides, so that {NOISE:.0%} are noise): {received}.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs (default 5)")
    arguments = parser.parse_args()
    results = Results("variant-preload" if PREFIX is None else f"variant-preload-glib-2.{glib_version()[1]}")
    complete = measure(results, arguments.runs)
    results.publish(section(results), complete)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
