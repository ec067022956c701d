"""Does `tare replay` foretell what a program takes under another allocator?

Each of the spine's programs is recorded once, under the C library's malloc, and its calls are performed under every
allocator; then the program itself runs under each, unrecorded. Compared: peak RSS, foretold and real, and whether the
order of the allocators is the same. Differences within 2 % of each other count as a tie, in either order.

`make bench-allocators`, or `python3 bench/allocators.py --runs 3 --case git`; writes its part of bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from harness.measure import ROOT, measure
from harness.results import Results, table
from spine_cases import CASES, Case

TIE = 0.02
LIMIT = 0.10


def foretell(tare: str, case: Case, folder: Path, runs: int) -> dict[str, Any]:
    trace = folder / "out.tare"
    measure([tare, "run", "-o", trace, "--", *case.command], folder, case.environment)
    done = subprocess.run(
        [tare, "replay", trace, "-n", str(runs), "--json"], capture_output=True, text=True, check=True
    )
    trace.unlink()
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def real_peak(case: Case, library: str, folder: Path, runs: int) -> tuple[float, float]:
    """Median peak RSS and CPU under an allocator."""
    environment = {**case.environment, **({"LD_PRELOAD": library} if library else {})}
    usages = [measure([*case.command], folder, environment) for _ in range(runs)]
    return median(usage.max_rss_bytes for usage in usages), median(usage.cpu_seconds for usage in usages)


def is_ranked_alike(foretold: dict[str, float], real: dict[str, float]) -> bool:
    for a, b in combinations(real, 2):
        if abs(real[a] - real[b]) <= TIE * real[a]:
            continue
        if (real[a] < real[b]) != (foretold[a] < foretold[b]):
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", action="append", choices=CASES, help="only these")
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    options = parser.parse_args()
    results = Results("allocators")
    rows = []
    worst = 0.0
    for name in options.case or CASES:
        case = CASES[name]()
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            told = foretell(options.tare, case, folder, options.runs)
            foretold, real = {}, {}
            own_cpu = None
            for each in told["allocators"]:
                library = "" if each["name"] == "glibc" else each["library"]
                rss, cpu = real_peak(case, library, folder, options.runs)
                foretold[each["name"]] = float(each["predicted_peak_rss_bytes"])
                real[each["name"]] = rss
                own_cpu = cpu if each["name"] == "glibc" else own_cpu
                error = foretold[each["name"]] / rss - 1
                worst = max(worst, abs(error))
                rows.append(
                    [
                        name,
                        each["name"],
                        f"{each['peak_heap_rss_bytes'] / 1e6:.1f}",
                        f"{foretold[each['name']] / 1e6:.1f}",
                        f"{rss / 1e6:.1f}",
                        f"{100 * error:+.1f} %" + (" **missed**" if abs(error) > LIMIT else ""),
                        f"{each['cpu_s']:.2f}",
                        f"{cpu:.2f}",
                    ]
                )
                results.add(name, each["name"], "rss", rss)
                print(" ".join(rows[-1]), flush=True)
            if not is_ranked_alike(foretold, real):
                results.remark(f"{name}: ranked otherwise than the real runs (**missed**)")
    body = (
        f"Peak RSS of programs under allocators, foretold from one recording under glibc and real; medians of {options.runs}\n"
        "runs. Target: within 10 %, and the same order (pairs within 2 % are ties). CPU of calls is that of the performance,\n"
        "CPU of the program that of the real run.\n\n"
        + table(
            ["case", "allocator", "heap MB", "foretold MB", "real MB", "error", "CPU of calls s", "CPU of program s"],
            rows,
        )
        + f"\nFurthest: {100 * worst:.1f} %.\n"
    )
    print(body, *results.remarks, sep="\n")
    if not options.dry_run:
        results.write_section(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
