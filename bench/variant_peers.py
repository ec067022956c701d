"""Bench of values built at run time beside the libraries that programs use for them: GLib, systemd's sd-bus, zvariant.

zvariant is Rust's: `cargo build --release --target-dir build/zvariant` in bench/variant/zvariant builds its program,
whose rows are left out where it isn't there. Ours are the C API with GLib's names and the builder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from harness.measure import BUILD, ROOT
from harness.results import Results, table

PROGRAM = BUILD / "variant/bench-variant-peers"
ZVARIANT = ROOT / "build/zvariant/release/bench-variant-zvariant"
SUBJECTS = ("tare-builder", "tare-c", "zvariant", "glib")


def run(results: Results, program: Path) -> bool:
    print(program.name, flush=True)
    ended = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        results.remark(f"`{program.name}` failed (status {ended.returncode})")
        return False
    for row in json.loads(ended.stdout):
        results.add(row["case"], row["subject"], row["metric"], row["value"], row["unit"])
    return True


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def over(above: float | None, below: float | None) -> str:
    return "-" if above is None or not below else f"{above / below:.1f}"


def section(results: Results, runs: int) -> str:
    builds = []
    for message in results.cases_of("build"):
        times = {s: results.median(f"{message}/build", s, "time") for s in SUBJECTS}
        builds.append(
            [
                message,
                *map(shown, times.values()),
                over(times["glib"], times["tare-c"]),
                over(times["zvariant"], times["tare-builder"]),
            ]
        )
    calls = []
    for message in results.cases_of("call"):
        ours, theirs = (results.median(f"{message}/call", subject, "time") for subject in ("tare", "sd-bus"))
        calls.append([message, shown(ours), shown(theirs), over(theirs, ours)])
    version = subprocess.run(["pkg-config", "--modversion", "glib-2.0"], stdout=subprocess.PIPE, text=True, check=False)
    header = ["message", "builder, ns", "C API, ns", "zvariant, ns", "GLib, ns", "GLib / C API", "zvariant / builder"]
    return f"""\
Times are CPU time of the thread, medians of {runs} runs, each the least of 12 batches; GLib is {version.stdout.strip()}.
Bytes of the C API and GLib are compared first.

### GVariant values

The C API and GLib make a value, are asked for its bytes, and free it, by the same calls. The builder writes into a buffer
that is used again. zvariant makes its values and serializes them into a new vector; its dictionaries are hash maps.

{table(header, builds)}
### D-Bus method calls

Header and body, complete. Ours are written into a buffer that is used again; sd-bus makes, seals and frees a message.

{table(["message", "ns", "sd-bus, ns", "sd-bus / ns"], calls)}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs (default 5)")
    arguments = parser.parse_args()
    results = Results("variant-peers")
    if not PROGRAM.exists():
        print(f"{PROGRAM.relative_to(ROOT)} isn't built: make bench-variant_peers builds it", file=sys.stderr)
        return 1
    complete = True
    for _ in range(arguments.runs):
        complete = run(results, PROGRAM) and complete
        complete = (not ZVARIANT.exists() or run(results, ZVARIANT)) and complete
    body = section(results, arguments.runs)
    print(body)
    print(results.write_json())
    if complete:
        print(results.write_section(body))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
