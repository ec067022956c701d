"""`tare check` on real programs: ten of ten on an unchanged one, and never on one that grew by a twentieth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from conftest import Tare

# A record a line; the regression is one more byte string in each twentieth.
SCRIPT = """
import json, sys
rows = [json.dumps({"id": i, "name": "row %d" % i}) for i in range(20000)]
kept = [json.loads(row) for row in rows]
print(len(kept))
"""
GREW = SCRIPT.replace("range(20000)", "range(21000)")


def script(tare: Tare, text: str, name: str) -> tuple[str, ...]:
    (tare.folder / name).write_text(text)
    return (sys.executable, name)


def test_chance_breaks_no_build_and_five_percent_do(tare: Tare) -> None:
    env = {"PYTHONMALLOC": "malloc"}
    same, grew = script(tare, SCRIPT, "same.py"), script(tare, GREW, "grew.py")
    baseline = tare.record(*same, name="baseline.tare", env=env)
    for number in range(10):
        trace = tare.record(*same, name=f"{number}.tare", options=("-q",), env=env)
        done = tare("check", trace, "--baseline", baseline)
        assert done.returncode == 0, done.stdout
    done = tare("check", tare.record(*grew, name="grew.tare", env=env), "--baseline", baseline, "--json")
    assert done.returncode == 1
    broken = {v["name"] for v in json.loads(done.stdout)["verdicts"] if not v["kept"]}
    assert {"peak.gross_bytes against the baseline", "total.blocks against the baseline"} <= broken


def test_budget_junit_and_series(tare: Tare) -> None:
    trace = tare.record("ls", "/")
    (tare.folder / "tare.toml").write_text('[budget]\n"peak.gross_bytes" = "1G"\n"total.blocks" = 1\n')
    done = tare(
        "check", trace, "--budget", "tare.toml", "--junit", "heap.xml", "--series", "heap.jsonl", "--label", "c1"
    )
    assert done.returncode == 1, done.stderr
    assert "OVER total.blocks:" in done.stdout
    assert "ok   peak.gross_bytes:" in done.stdout
    suite = ElementTree.parse(tare.folder / "heap.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    assert "1 recording, c1" in tare("check", "--series", "heap.jsonl").stdout
    assert tare("check", trace).returncode == 2
    assert tare("check", trace, "--budget", "missing.toml").returncode == 4


def test_recordings_of_two_programs_warn(tare: Tare) -> None:
    ours, other = tare.record("ls", "/", name="ls.tare"), tare.record("true", name="true.tare")
    assert "true.tare is a recording of true, " in tare("check", ours, "--baseline", other).stderr
    assert tare("check", ours, "--baseline", ours).stderr == ""


def test_the_pytest_plugin(tare: Tare) -> None:
    (tare.folder / "tare.toml").write_text('[budget]\n"total.blocks" = 1\n')
    (tare.folder / "test_heap.py").write_text(
        "import pytest\n"
        "def test_fits(tare_heap):\n"
        "    heap = tare_heap('ls', '/')\n"
        "    heap.check(**{'peak.gross_bytes': '1G'})\n"
        "    assert heap.figure('total.blocks') > 1\n"
        "def test_grew(tare_heap):\n"
        "    tare_heap('ls', '/').check(**{'peak.gross_bytes': 1})\n"
        "@pytest.mark.tare_budget('tare.toml')\n"
        "def test_marked(tare_heap):\n"
        "    tare_heap('ls', '/')\n"
    )
    python = Path(tare.command).parent / "python"
    # by its module, whether it is installed with its entry point or not
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "tare.pytest_plugin", "-p", "no:tare", "test_heap.py"],
        capture_output=True,
        text=True,
        cwd=tare.folder,
    )
    assert "1 passed" in done.stdout and "2 failed" in done.stdout, done.stdout + done.stderr
    assert "peak.gross_bytes: " in done.stdout
    assert "total.blocks: " in done.stdout
