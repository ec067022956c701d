"""Runs each profiler over a case, and measures its run and its analysis."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from harness.measure import ROOT, RUSAGE_OF, MeasuredCommandFailed, Usage, measure, read_usage
from spine_cases import DEBIAN_PYTHON, Case

TARE = ROOT / ".venv/bin/tare"
HEAPTRACK_PRELOAD = Path("/usr/lib/heaptrack/libheaptrack_preload.so")
HEAPTRACK_INTERPRET = Path("/usr/lib/heaptrack/libexec/heaptrack_interpret")
MEMRAY_VENV = ROOT / "build/bench-venv"

Metrics = dict[str, float]
Command = list[str | Path]


class Subject(Protocol):
    name: str

    def applies(self, case: Case) -> bool: ...

    def run(self, case: Case, folder: Path) -> Metrics:
        """One recording in `folder`, which is empty before and keeps the files for `analyse`."""
        ...

    def analyse(self, case: Case, folder: Path) -> Metrics:
        """The cost of turning the recording of the last run into a report; may be empty."""
        ...


def whole(usage: Usage) -> Metrics:
    return {"cpu": usage.cpu_seconds, "wall": usage.wall_seconds, "rss": usage.max_rss_bytes}


def file_bytes(files: Iterator[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


class Native:
    name = "native"

    def applies(self, case: Case) -> bool:
        return True

    def run(self, case: Case, folder: Path) -> Metrics:
        usage = measure([*case.command], folder, case.environment)
        return {**whole(usage), "program_cpu": usage.cpu_seconds}

    def analyse(self, case: Case, folder: Path) -> Metrics:
        return {}


class Tare:
    """Everything that `tare run` does, its summary included, with no cache of symbols from earlier runs."""

    name = "tare"
    options: tuple[str, ...] = ()

    def applies(self, case: Case) -> bool:
        return True

    def environment(self, case: Case, folder: Path) -> dict[str, str]:
        cache = folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir()
        return {**case.environment, "XDG_CACHE_HOME": str(cache)}

    def run(self, case: Case, folder: Path) -> Metrics:
        environment = self.environment(case, folder)
        command: Command = [TARE, "run", *self.options, "-o", folder / "out.tare", "--", *case.command]
        usage = measure(command, folder, environment)
        return whole(usage)

    def analyse(self, case: Case, folder: Path) -> Metrics:
        trace = folder / "out.tare"
        shutil.rmtree(folder / ".out.tare.cache", ignore_errors=True)
        usage = measure([TARE, "report", trace], folder, self.environment(case, folder))
        report = subprocess.run([TARE, "report", trace, "--json"], stdout=subprocess.PIPE, check=True).stdout
        events = json.loads(report)["events"]
        return {
            "analysis_cpu": usage.cpu_seconds,
            "analysis_rss": usage.max_rss_bytes,
            "count": events,
            "disk_per_event": file_bytes(folder.glob("out.tare*")) / events,
        }


class TareContent(Tare):
    """With the blocks' contents: the aim is at most 1.5 times the cost of `tare`."""

    name = "tare-content"
    options = ("--content",)


class TareProgram(Tare):
    """The program's own process under a live launcher: a wrapper that is recorded too runs it and prints its cost alone."""

    def run(self, case: Case, folder: Path) -> Metrics:
        program = folder / "program.json"
        command: Command = [TARE, "run", "-o", folder / "out.tare", "--", RUSAGE_OF, program, *case.command]
        measure(command, folder, self.environment(case, folder))
        return {"program_cpu": read_usage(program).cpu_seconds}

    def analyse(self, case: Case, folder: Path) -> Metrics:
        return {}


class Heaptrack:
    name = "heaptrack"

    def applies(self, case: Case) -> bool:
        return True

    def run(self, case: Case, folder: Path) -> Metrics:
        usage = measure(["heaptrack", "-o", folder / "out", *case.command], folder, case.environment)
        complaints = (folder / "stderr").read_text(errors="replace")
        if "terminate called" in complaints or "bad_alloc" in complaints:
            raise MeasuredCommandFailed(f"heaptrack's interpreter failed: {complaints.strip().splitlines()[-1]}")
        return {**whole(usage), "disk_bytes": file_bytes(folder.glob("out.zst"))}

    def analyse(self, case: Case, folder: Path) -> Metrics:
        return {}


class HeaptrackRecorder:
    """The preloaded library alone, writing its raw trace to a file: the cost inside the program."""

    name = "heaptrack-recorder"

    def applies(self, case: Case) -> bool:
        return True

    def run(self, case: Case, folder: Path) -> Metrics:
        # by env, because the library removes itself from the environment of its first program's children
        preload = ["env", f"LD_PRELOAD={HEAPTRACK_PRELOAD}", f"DUMP_HEAPTRACK_OUTPUT={folder / 'raw'}"]
        usage = measure([*preload, *case.command], folder, case.environment)
        return {**whole(usage), "program_cpu": usage.cpu_seconds, "disk_bytes": file_bytes(folder.glob("raw"))}

    def analyse(self, case: Case, folder: Path) -> Metrics:
        """heaptrack_interpret and heaptrack_print over the raw trace; charged to `heaptrack`."""
        interpreted = folder / "interpreted"
        interpret = measure([HEAPTRACK_INTERPRET], folder, stdin=folder / "raw", stdout=interpreted)
        printed = measure(["heaptrack_print", "-f", interpreted], folder)
        return {
            "heaptrack:analysis_cpu": interpret.cpu_seconds + printed.cpu_seconds,
            "heaptrack:analysis_rss": max(interpret.max_rss_bytes, printed.max_rss_bytes),
        }


class Memray:
    name = "memray"

    def applies(self, case: Case) -> bool:
        return case.python_script is not None

    def run(self, case: Case, folder: Path) -> Metrics:
        assert case.python_script is not None
        command: Command = [
            MEMRAY_VENV / "bin/python",
            "-m",
            "memray",
            "run",
            "--native",
            "--force",
            "--output",
            folder / "out",
        ]
        usage = measure([*command, case.python_script], folder, case.environment)
        return {**whole(usage), "disk_bytes": file_bytes(folder.glob("out"))}

    def analyse(self, case: Case, folder: Path) -> Metrics:
        usage = measure([MEMRAY_VENV / "bin/python", "-m", "memray", "stats", folder / "out"], folder)
        return {"analysis_cpu": usage.cpu_seconds, "analysis_rss": usage.max_rss_bytes}


def install_memray() -> None:
    """Into an environment of its own, made by the Python that the case runs."""
    if (MEMRAY_VENV / "bin/memray").exists():
        return
    subprocess.run([DEBIAN_PYTHON, "-m", "venv", "--clear", MEMRAY_VENV], check=True)
    subprocess.run([MEMRAY_VENV / "bin/pip", "install", "--quiet", "memray==1.20.0"], check=True)


SUBJECTS: list[Subject] = [Native(), Tare(), TareContent(), TareProgram(), HeaptrackRecorder(), Heaptrack(), Memray()]
