"""Metrics: read back by a parser of OpenMetrics that was written from its grammar."""

from __future__ import annotations

import re
from pathlib import Path

from machine import MIB, Machine
from tare.watch import metrics, reader
from tare.watch.metrics import Own

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[0-9.e+]+)')


def parsed(text: str) -> dict[tuple[str, str], float]:
    """By name and labels. Every rule that text breaks fails."""
    assert text.endswith("# EOF\n")
    found: dict[tuple[str, str], float] = {}
    family, kind, seen = "", "", set[str]()
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family not in seen and kind in ("gauge", "counter")
            seen.add(family)
        elif line.startswith("# UNIT "):
            assert line.split(" ")[2] == family and family.endswith("_" + line.split(" ")[3])
        elif line.startswith("# HELP "):
            assert line.split(" ")[2] == family
        else:
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match[1] == family + ("_total" if kind == "counter" else "")
            assert (match[1], match[2] or "") not in found
            found[match[1], match[2] or ""] = float(match[3])
    return found


OWN = Own({"timer": 3, "rss": 1}, {"rss": 1}, 2, 4, 5000, 17)


def test_figures_of_processes_and_watcher(machine: Machine) -> None:
    path = machine.write(7, 5 * MIB)
    facts = reader.facts_of(str(path), "")
    found = parsed(metrics.text([(facts, 9 * MIB)], OWN))
    labels = f'pid="7",image="{facts.image}",program="redis-server"'
    assert found["tare_heap_live_bytes", labels] == 5 * MIB
    assert found["tare_heap_live_error_bytes", labels] == round(0.1 * MIB, 6)
    assert found["tare_heap_allocated_bytes_total", labels] == 5 * MIB
    assert found["tare_heap_sample_bytes", labels] == 512 << 10
    assert found["tare_process_resident_bytes", labels] == 9 * MIB
    assert found["tare_watch_snapshots_total", 'reason="timer"'] == 3
    assert found["tare_watch_triggers_total", 'trigger="rss"'] == 1
    assert found["tare_watch_kept_bytes", ""] == 5000
    assert found["tare_watch_cpu_seconds_total", ""] > 0
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    assert 0.5 * resident < found["tare_watch_resident_bytes", ""] < 2 * resident


def test_a_program_of_any_name(machine: Machine) -> None:
    path = machine.write(7, executable='/bin/a"b\\c\nd\x1b[31m\udcff')
    facts = reader.facts_of(str(path), "")._replace(executable='/bin/a"b\\c\nd\x1b[31m\udcff')
    text = metrics.text([(facts, None)], OWN)
    text.encode("utf-8")
    labels = {labels for (name, labels), _ in parsed(text).items() if name == "tare_heap_live_bytes"}
    assert labels == {f'pid="7",image="{facts.image}",program="a\\"b\\\\c\\nd?[31m?"'}


def test_no_process() -> None:
    assert ("tare_watch_rounds_total", "") in parsed(metrics.text([], OWN))
