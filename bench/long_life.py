"""Does a recording without end stay bounded? Samples the launcher's memory, the trace's segments and tmpfs while a program makes
and ends threads, mappings, stacks and processes, and loads and unloads a library; writes docs/long-life-measured.md with a curve,
and fails where memory, tmpfs or the segments grow after the first part of the run.

`make bench-long_life`, or `python3 bench/long_life.py --seconds 1800`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.measure import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MIB = 1 << 20
PERIOD_S = 2.0
SEGMENT = "16M"
KEPT = 4
MOST_GROWTH = 0.10  # of the median after the settling time, at the end


class Sample(NamedTuple):
    seconds: float
    launcher_bytes: int
    tmpfs_bytes: int
    segment_bytes: int
    short_bytes: int  # the container of short processes


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/{pid}/smaps_rollup has no Rss")


def bytes_of(files: Iterable[Path]) -> int:
    """Bytes on disk; files may go meanwhile."""
    total = 0
    for file in files:
        try:
            total += os.lstat(file).st_blocks * 512
        except FileNotFoundError:
            continue
    return total


def files_below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place) / name for name in names)


def sampled(process: subprocess.Popen[bytes], traces: Path, spools: Path) -> list[Sample]:
    samples: list[Sample] = []
    begin = time.monotonic()
    while process.poll() is None:
        try:
            launcher_bytes = resident_bytes(process.pid)
        except (OSError, RuntimeError):
            break
        segments = bytes_of([traces / "t.tare", *traces.glob("t.tare.s[0-9]*")])
        short = bytes_of([traces / "t.tare.short"])
        samples.append(Sample(time.monotonic() - begin, launcher_bytes, bytes_of(files_below(spools)), segments, short))
        time.sleep(PERIOD_S)
    return samples


def table_sizes(tare: str, trace: Path) -> str:
    """How many modules and return addresses the latest segment has: they come from the program's start on."""
    query = "select (select count(*) from modules) as modules, (select count(*) from frames) as rows"
    found = json.loads(
        subprocess.run([tare, "sql", str(trace), query, "--json"], check=True, capture_output=True).stdout
    )
    return f"{found[0]['modules']} modules and {found[0]['rows']} frames"


def median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def growth(values: list[int]) -> float:
    """The last quarter's median beside the first's."""
    quarter = max(len(values) // 4, 1)
    first = median(values[:quarter])
    return (median(values[-quarter:]) - first) / max(first, MIB)


def svg(samples: list[Sample]) -> str:
    width, height, left, bottom = 720, 300, 60, 30
    most_mib = max(max(s.launcher_bytes, s.tmpfs_bytes, s.segment_bytes) for s in samples) / MIB * 1.05
    most_s = samples[-1].seconds

    def at(seconds: float, mib: float) -> str:
        x = left + (width - left - 10) * seconds / most_s
        return f"{x:.1f},{(height - bottom) * (1 - mib / most_mib):.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for part in range(5):
        mib = most_mib * part / 4
        y = (height - bottom) * (1 - part / 4)
        lines.append(f'<path d="M{left} {y:.1f}H{width - 10}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 6}" y="{max(y + 4, 12):.1f}" text-anchor="end">{mib:.0f} MiB</text>')
        x = left + (width - left - 10) * part / 4
        lines.append(f'<text x="{x:.1f}" y="{height - 10}" text-anchor="middle">{most_s * part / 240:.0f} min</text>')
    for row, (name, color, field) in enumerate(
        (("launcher, resident", "#c33", 1), ("tmpfs", "#36c", 2), ("segments", "#393", 3))
    ):
        points = " ".join(at(s.seconds, s[field] / MIB) for s in samples)
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        lines.append(f'<text x="{left + 10}" y="{16 + 16 * row}" fill="{color}">{name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def page(samples: list[Sample], did: str, ends: str, settled: float, verdicts: list[str]) -> str:
    marks = [samples[min(int(len(samples) * part / 8), len(samples) - 1)] for part in range(9)]
    rows = [
        f"| {s.seconds / 60:.1f} | {s.launcher_bytes / MIB:.1f} | {s.tmpfs_bytes / MIB:.2f} | {s.segment_bytes / MIB:.1f} | {s.short_bytes / MIB:.1f} |"
        for s in marks
    ]
    return "\n".join(
        [
            "# A long recording, measured",
            "",
            "`bench/long_life.py` recorded a program that makes and ends named threads, mappings and processes, and loads and unloads a",
            f"library, on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, Linux {platform.release()}, with",
            f"`--max-size {SEGMENT} --rotate {KEPT}`. It did: {did}.",
            "",
            "[The curve: memory and disk over time](long-life-measured.svg)",
            "",
            "| minutes | launcher, resident MiB | tmpfs MiB | segments MiB | container of short processes MiB |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"The bench fails where the launcher's resident memory, tmpfs or the segments grow by more than {MOST_GROWTH:.0%} (or {MOST_GROWTH:.1f} MiB) after the first {settled / 60:.1f} minutes.",
            "It compares the medians of the first and the last quarter of that time:",
            "",
            *(f"- {verdict}" for verdict in verdicts),
            "",
            f"At the end the latest segment named {ends}.",
            "",
            "The container of short processes grows with each recorded process. No option limits it.",
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--shapes", type=int, default=20_000, help="distinct stacks that the program allocates from")
    parser.add_argument("--tare", default=str(ROOT / ".venv/bin/tare"))
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "docs", help="where long-life-measured.md and its curve are written"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as disk, tempfile.TemporaryDirectory(dir="/dev/shm") as shared:
        program = Path(disk) / "long_life"
        source = ROOT / "bench/workloads/long_life.c"
        subprocess.run(["gcc", "-O1", "-g", "-pthread", str(source), "-ldl", "-o", str(program)], check=True)
        library = Path(disk) / "loaded.so"
        source = ROOT / "bench/workloads/loaded.c"
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
        traces = Path(disk) / "traces"
        traces.mkdir()
        process = subprocess.Popen(
            [
                *[options.tare, "run", "-o", "t.tare", "--max-size", SEGMENT, "--rotate", str(KEPT), "--"],
                *[str(program), str(options.seconds), str(options.shapes), str(library)],
            ],
            cwd=traces,
            env={**os.environ, "TARE_SPOOL_PARENT": shared},
            stdout=subprocess.PIPE,
        )
        samples = sampled(process, traces, Path(shared))
        did = process.communicate()[0].decode().strip()
        ends = table_sizes(options.tare, traces / "t.tare")
    if process.returncode != 0 or len(samples) < 8:
        print(f"the recording failed: status {process.returncode}, {len(samples)} samples", file=sys.stderr)
        return 1
    settled = min(600.0, options.seconds / 3)
    late = [sample for sample in samples if sample.seconds >= settled]
    verdicts = []
    status = 0
    series = {
        "launcher": [s.launcher_bytes for s in late],
        "tmpfs": [s.tmpfs_bytes for s in late],
        "segments": [s.segment_bytes for s in late],
    }
    for name, values in series.items():
        grown = growth(values)
        kept = grown <= MOST_GROWTH
        verdicts.append(f"{name}: grown by {grown:+.1%}, {'within the limit' if kept else 'beyond the limit'}")
        status = status if kept else 1
    print("\n".join(verdicts))
    options.docs.mkdir(parents=True, exist_ok=True)
    (options.docs / "long-life-measured.md").write_text(page(samples, did, ends, settled, verdicts))
    (options.docs / "long-life-measured.svg").write_text(svg(samples))
    return status


if __name__ == "__main__":
    sys.exit(main())
