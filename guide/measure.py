"""Builds the guide's programs, records each pair, and writes what was measured into the pair's page: `make guide`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "bench"))

from harness.machine import machine_description  # noqa: E402

TARE = str(ROOT / ".venv/bin/tare")
BUILD = ROOT / "build/guide"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"

# Under which allocator a pair is shown, where the machine's own wouldn't have the waste.
ENVIRONMENT = {"01-clownshoes": {"LD_PRELOAD": JEMALLOC}}
# Whose findings a page shows.
LENS = {
    "01-clownshoes": "slop",
    "02-just-enough-growth": "growth",
    "03-eager-buffers": "churn",
    "04-twin-blocks": "headers",
    "08-arena": "headers",
    "09-unwritten": "unwritten",
    "10-recreated": "recreated",
    "11-hoards": "hoards",
    "12-leaks": "leaks",
    "13-churn": "churn",
    "14-headroom": "headroom",
    "15-value-tree": "twins",
    "16-padding": "padding",
    "17-document": "wide-pointers",
}
# Pages that show what is live at the end: one record.
AT_END = ("06-recycling-cache",)
# The data that a pair's lens needs in the recording.
OPTIONS = {
    "09-unwritten": ("--content",),
    "10-recreated": ("--content",),
    "11-hoards": ("--snapshots",),
    "12-leaks": ("--snapshots",),
    "14-headroom": ("--content",),
    "15-value-tree": ("--content",),
    "17-document": ("--snapshots",),
}
# What else a pair's programs are asked: the bytes of each of so many pages.
PAGES = 1000


def run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **(environment or {}), "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
    return done.stdout.replace(f"{BUILD / 'guide'}/", "")


def fenced(command: str, text: str) -> str:
    return f"    $ {command}\n" + "".join(f"    {line}".rstrip() + "\n" for line in text.strip("\n").splitlines())


def finding(report: str, lens: str) -> str:
    """The lens' part of a report: from its heading to the next empty line."""
    lines = report.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{lens}:"))
    end = next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines))
    return "\n".join(lines[start : min(end, start + 4)])


def head(difference: str) -> str:
    """A difference's table, without the list of sites."""
    lines = difference.splitlines()
    return "\n".join(lines[1 : next((i for i, line in enumerate(lines) if not line.strip()), len(lines))])


def weighed(before: str, after: str) -> str:
    """P50 and P99 of two lists of bytes, one a line."""
    rows = []
    for share in (50, 99):
        pages = [sorted(int(line) for line in text.split()) for text in (before, after)]
        least, most = (each[len(each) * share // 100] for each in pages)
        rows.append(f"P{share} {least:>12,} {most:>12,} {most - least:>12,} {100 * (most / least - 1):+6.1f}%")
    return "\n".join([f"bytes {'before':>10} {'after':>12} {'change':>12}", *rows])


def measure(pair: str) -> str:
    programs = BUILD / "guide" / pair
    environment, options = ENVIRONMENT.get(pair, {}), OPTIONS.get(pair, ())
    with tempfile.TemporaryDirectory() as scratch:
        traces = {version: Path(scratch) / f"{version}.tare" for version in ("before", "after")}
        for version, trace in traces.items():
            run(TARE, "run", "-q", *options, "-o", trace, "--", programs / version, environment=environment)
        preload = "".join(f"{name}={Path(value).name} " for name, value in environment.items())
        parts = []
        if pair == "07-dark-matter":
            for version in traces:
                parts.append(fenced(f"./{version}", run(programs / version)))
        if pair == "17-document":
            pages = [run(programs / version, "--weigh", str(PAGES)) for version in traces]
            parts.append(
                fenced(
                    f"./before --weigh {PAGES}; ./after --weigh {PAGES}     # the bytes of each page", weighed(*pages)
                )
            )
        if pair in LENS:
            report = run(TARE, "report", traces["before"], "--lens", LENS[pair])
            parts.append(
                fenced(
                    f"{preload}tare run -q {''.join(f'{o} ' for o in options)}-o before.tare -- ./before; tare report before.tare",
                    finding(report, LENS[pair]),
                )
            )
        if pair in AT_END:
            report = run(TARE, "report", traces["before"], "--at", "end", "-n", "1", "--depth", "1")
            parts.append(
                fenced(
                    "tare run -q -o before.tare -- ./before; tare report before.tare --at end -n 1 --depth 1",
                    report[report.index("Live at the end") :],
                )
            )
        parts.append(fenced("tare diff before.tare after.tare", head(run(TARE, "diff", *traces.values()))))
        compared = run(TARE, "compare", "--", programs / "before", "--", programs / "after", environment=environment)
        parts.append(fenced(f"{preload}tare compare -- ./before -- ./after", compared))
    return f"Measured by `make guide`: {datetime.now(UTC):%Y-%m-%d}, {machine_description()}.\n\n" + "\n".join(parts)


def rewrite(page: Path, measured: str) -> None:
    text = page.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:start]}\n{measured}{text[end:]}")


def build() -> None:
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DTARE_LIBRARY_ONLY=ON"]
    run("cmake", "-S", ROOT, "-B", BUILD, *options, "-DTARE_BUILD_GUIDE=ON", "-DTARE_BUILD_TESTS=OFF")
    run("cmake", "--build", BUILD)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", help="folders of the guide (default: all)")
    wanted = parser.parse_args().pairs or sorted(page.parent.name for page in HERE.glob("*/README.md"))
    build()
    for number, pair in enumerate(wanted, 1):
        print(f"{number}/{len(wanted)} {pair}", flush=True)
        rewrite(HERE / pair / "README.md", measure(pair))


if __name__ == "__main__":
    main()
