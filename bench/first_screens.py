"""The first screens of 46 real programs: each is recorded plain and with --content, and its list "do first" is printed.

Verdicts are by hand, in first_screens.toml beside this file. A finding is true if a named change of the source returns at least half of the predicted
gain. It is worth it if `tare prove` or a fix finds at least 1 % of the peak RSS or of the CPU time. Misses stay in the table.

`.venv/bin/python bench/first_screens.py`, or `... --case mandoc`; `--table` writes the verdicts into docs/first-screens.md. Recordings and inputs are in
build/first-screens; those that exist aren't made again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import tomllib
from first_screens_programs import PREPARE, Program, programs
from harness.machine import machine_description
from harness.measure import ROOT
from harness.results import table
from tare import cli

SCRATCH = ROOT / "build/first-screens"
INPUTS = SCRATCH / "inputs"
VERDICTS = ROOT / "bench/first_screens.toml"
PAGE = ROOT / "docs/first-screens.md"
TARE = os.environ.get("TARE") or str(ROOT / ".venv/bin/tare")
WAYS: dict[str, list[str]] = {"plain": [], "content": ["--content"]}
BEGIN, END = "<!-- first screens: begin -->", "<!-- first screens: end -->"


class Shown(NamedTuple):
    """An entry of a list."""

    program: str
    way: str
    place: int
    lens: str  # the leading one
    site: str
    gains: dict[str, float]  # shares of the peak RSS and of the run's time
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.program, self.lens, self.site


def recorded(program: Program, way: str) -> Path:
    trace = SCRATCH / f"{program.name}.{way}.tare"
    if not trace.exists():
        made = trace.with_suffix(".new")
        subprocess.run(
            [TARE, "run", "-q", "-o", made, *WAYS[way], "--", *program.command], cwd=INPUTS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, timeout=600, check=False,
        )  # fmt: skip
        made.rename(trace)
    return trace


_ENTRY = re.compile(r"^ ?(\d+)\. (?P<gains>.+?)  (?P<site>\S.*)$")
_GAIN = re.compile(r"(RSS|CPU) [-≥]+([\d.]+)%")


def report(trace: Path) -> str:
    """In this process: starting sixty takes longer than their reports."""
    os.environ["COLUMNS"] = "200"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = cli.main(["report", str(trace)])
    assert status == 0, f"{trace}: {status}"
    return out.getvalue()


def shown(program: Program, way: str) -> list[Shown]:
    """Of the text that a terminal shows."""
    trace = recorded(program, way)
    lines = report(trace).split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("do first"))
    found: list[Shown] = []
    for i in range(begin + 1, len(lines)):
        if lines[i].startswith("largest") or not lines[i]:
            break
        if entry := _ENTRY.match(lines[i]):
            rest = [line.strip() for line in itertools.takewhile(lambda line: line.startswith("    "), lines[i + 1 :])]
            about = next(line for line in rest if "; confidence" in line)
            lens = about.split("; ")[1].split(",")[0]
            gains = {name: float(share) / 100 for name, share in _GAIN.findall(entry["gains"])}
            found.append(Shown(program.name, way, int(entry[1]), lens, entry["site"], gains, "\n    ".join(rest)))
    return found


def verdicts() -> dict[tuple[str, str, str], dict[str, Any]]:
    with VERDICTS.open("rb") as file:
        return {(each["program"], each["lens"], each["site"]): each for each in tomllib.load(file)["finding"]}


def proven(trace: Path, place: int) -> str:
    """The part of the prediction that the performed calls can show."""
    found = subprocess.run(
        [TARE, "prove", trace, "--finding", str(place), "--runs", "3", "--json"], capture_output=True, text=True, env={**os.environ, "TARE_TRUST_FILES": "1"},
        check=False,
    )  # fmt: skip
    if found.returncode != 0:
        return (found.stderr.strip().splitlines() or ["it failed"])[-1]
    (finding, *_) = json.loads(found.stdout)["findings"]
    proof = finding.get("proof")
    if proof is None:
        return str(finding.get("not_performed"))
    change, program, cpu = proof["peak_rss_bytes"], proof["program_peak_rss_bytes"], proof["cpu_s"]
    whole = program["before"] if program else change["before"]
    return f"RSS {100 * change['change'] / whole:+.1f} % of the program's, CPU {cpu['change'] * 1e3:+.2f} ms"


def show(program: Program, with_proofs: bool) -> list[Shown]:
    every = []
    for way in WAYS:
        entries = shown(program, way)
        print(f"== {program.name} {way}: {len(entries)} entries")
        for entry in entries:
            gains = ", ".join(f"{name} -{100 * share:.1f}%" for name, share in entry.gains.items() if share >= 0.001)
            print(f"{entry.place:2}. {gains}  {entry.lens}  {entry.site}\n    {entry.text}")
            if with_proofs:
                print(f"    proven: {proven(recorded(program, way), entry.place)}")
        every += entries
    return every


def prepare() -> None:
    if not (INPUTS / "done").exists():
        shutil.rmtree(INPUTS, ignore_errors=True)
        INPUTS.mkdir(parents=True)
        for step in PREPARE:
            step(INPUTS)
        (INPUTS / "done").touch()


def version(program: Program) -> str:
    words = [*program.version] if program.version[-1] else program.version[:1]
    found = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package_of(words[0])], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "?"


def package_of(command: str) -> str:
    path = os.path.realpath(shutil.which(command) or command)
    for name in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":", 1)[0]
    return command


def write_table(every: dict[str, list[Shown]]) -> None:
    judged, rows, counted = verdicts(), [], []
    for program in programs():
        seen: set[tuple[str, str, str]] = set()
        for entry in every.get(program.name, []):
            if entry.key in seen:
                continue
            seen.add(entry.key)
            verdict = judged.get(entry.key)
            gain = max(entry.gains.items(), key=lambda each: each[1])
            words = ["not judged", "", ""] if verdict is None else [
                "true" if verdict["true"] else "**false**", "yes" if verdict["worth"] else "**no**", verdict["how"],
            ]  # fmt: skip
            counted.append(verdict)
            place = f"{entry.way} {entry.place}"
            rows.append(
                [program.name, place, entry.lens, f"`{entry.site}`", f"{gain[0]} -{100 * gain[1]:.1f} %", *words]
            )
    known = [each for each in counted if each is not None]
    true, worth = sum(each["true"] for each in known), sum(each["worth"] for each in known)
    unseen_names = {each.name for each in programs() if each.novelty == "unseen"}
    unseen = [each for each in known if each["program"] in unseen_names]
    subjects = [
        [each.name, version(each), each.novelty, each.description, *(str(sum(e.way == way for e in every.get(each.name, []))) for way in WAYS)]
        for each in programs() if each.name in every
    ]  # fmt: skip
    body = (
        f"{len(known)} findings of {len(subjects)} programs were judged: {true} are true ({100 * true / max(len(known), 1):.0f} %), "
        f"{worth} are worth it ({100 * worth / max(len(known), 1):.0f} %). {len(counted) - len(known)} aren't judged. "
        f"Of {len(unseen)} findings of the {len(unseen_names)} programs that were added last, {sum(each['true'] for each in unseen)} are true and "
        f"{sum(each['worth'] for each in unseen)} are worth it.\n\n"
        + table(["program", "version", "", "input", "entries, plain", "entries, --content"], subjects)
        + "\n"
        + table(["program", "list", "lens", "site", "predicted", "true", "worth it", "how judged"], rows)
        + f"\n{machine_description()}\n"
    )
    text = PAGE.read_text()
    PAGE.write_text(text[: text.index(BEGIN)] + f"{BEGIN}\n{body}{END}" + text[text.index(END) + len(END) :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", default=[], help="only this program; repeatable")
    parser.add_argument("--prove", action="store_true", help="perform each finding's remedy, too")
    parser.add_argument("--table", action="store_true", help="write docs/first-screens.md")
    options = parser.parse_args()
    prepare()
    every = {}
    for program in programs():
        if (not options.case or program.name in options.case) and shutil.which(program.command[0]):
            every[program.name] = show(program, options.prove)
    if options.table and not options.case:
        write_table(every)


if __name__ == "__main__":
    main()
