"""The saving by 4-byte pointers in a real program's heap, before and after its types' fields are reordered, and the part that
padding takes.

The seed's observation ("Pointer compression in Oilpan"): smaller pointers alone often only made the padding larger, and reordering
gave it back. Here a program with debug information is recorded, its blocks are joined to types (`tare layout --trace`), and
each type's blocks are priced as the program's allocator serves them.

Beside that, each type of some binaries once, live or not.

`.venv/bin/python bench/pointer_width.py --binary git --binary vim -- lua app.lua`, or any other command; writes its part of
bench/RESULTS.md unless --dry-run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.measure import ROOT
from harness.results import Results, table

LEAST_SHARE = 0.01  # of half of all pointers: smaller types are one row


def weigh(tare: str, command: list[str]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "out.tare"
        subprocess.run([tare, "run", "-q", "-o", trace, "--", *command], check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([tare, "layout", "--trace", trace, "--json"], capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def half_of_pointers(each: dict[str, Any]) -> float:
    return float(4 * each["pointers"] * each["objects_peak"])


def row(name: str, types: list[dict[str, Any]]) -> list[str]:
    half = sum(half_of_pointers(each) for each in types)
    narrow, both = (sum(each[f"narrow_{order}saved_bytes_peak"] for each in types) for order in ("", "reordered_"))
    eaten, given_back = (100 * (half - saved) / half for saved in (narrow, both))
    sizes = str(types[0]["size_bytes"]) if len(types) == 1 else ""
    objects = sum(each["objects_peak"] for each in types)
    return [
        name,
        sizes,
        f"{objects:,.0f}",
        f"{half / 1e3:,.0f}",
        f"{narrow / 1e3:,.0f}",
        f"{eaten:.0f} %",
        f"{both / 1e3:,.0f}",
        f"{given_back:.0f} %",
        types[0]["certainty"] if len(types) == 1 else "",
    ]


def each_type_once(tare: str, binary: str) -> list[str]:
    done = subprocess.run(
        [tare, "layout", shutil.which(binary) or binary, "--json"], capture_output=True, text=True, check=True
    )
    types = [each for each in json.loads(done.stdout)["types"] if each["pointers"] and each["order_state"] == "movable"]
    size, plain, narrow, both = (
        sum(each[name] for each in types)
        for name in ("size_bytes", "reordered_bytes", "narrow_bytes", "narrow_reordered_bytes")
    )
    half = 4 * sum(each["pointers"] for each in types)
    shares = [100 * (size - other) / size for other in (plain, narrow, both)]
    eaten = [100 * (half - size + other) / half for other in (narrow, both)]
    return [
        Path(binary).name,
        str(len(types)),
        *(f"{share:.1f} %" for share in shares),
        *(f"{share:.0f} %" for share in eaten),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    parser.add_argument("--dry-run", action="store_true", help="leave bench/RESULTS.md as it is")
    parser.add_argument("--binary", action="append", default=[], help="with debug information: each of its types once")
    parser.add_argument("command", nargs="+", metavar="CMD", help="behind --: a program with debug information")
    options = parser.parse_args()
    told = weigh(options.tare, options.command)
    types = [each for each in told["types"] if each["pointers"] and each["objects_peak"]]
    if not types:
        print("no block of it could be joined to a type that holds pointers: has it debug information?")
        return 1
    least = LEAST_SHARE * sum(map(half_of_pointers, types))
    large = sorted((each for each in types if half_of_pointers(each) >= least), key=half_of_pointers, reverse=True)
    small = [each for each in types if half_of_pointers(each) < least]
    rows = [row(each["name"], [each]) for each in large] + ([row("smaller ones", small)] if small else [])
    rows.append(row("all", types))
    known = sum(each["gross_bytes_peak"] for each in told["types"])
    body = (
        f"`{Path(options.command[0]).name}`: types known of {100 * known / told['gross_bytes_peak']:.0f} % of its heap's"
        f" {told['gross_bytes_peak'] / 1e6:.1f} MB at the peak. Half of the pointers to data, what 4-byte pointers leave of blocks in the\n"
        "fields' order as it is and in the best, and the shares that padding and size classes eat.\n\n"
        + table(
            [
                "type",
                "bytes",
                "objects",
                "half of pointers kB",
                "saved kB",
                "eaten",
                "reordered too kB",
                "eaten",
                "sure",
            ],
            rows,
        )
    )
    if options.binary:
        body += (
            "\nEach type that holds pointers and could be reordered once, its own bytes without blocks:\n\n"
            + table(
                [
                    "binary",
                    "types",
                    "by order alone",
                    "4-byte pointers",
                    "and reordered",
                    "eaten by padding",
                    "and reordered",
                ],
                [each_type_once(options.tare, binary) for binary in options.binary],
            )
        )
    print(body)
    results = Results("pointer-width")
    case = Path(options.command[0]).name
    results.add(case, "half-of-pointers", "bytes", sum(map(half_of_pointers, types)))
    results.add(case, "4-byte-pointers", "bytes", sum(each["narrow_saved_bytes_peak"] for each in types))
    results.add(case, "reordered-too", "bytes", sum(each["narrow_reordered_saved_bytes_peak"] for each in types))
    if not options.dry_run:
        results.write_json()
        results.write_section(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
