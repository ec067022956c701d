"""Compare: pairs, ratios, spread; a command that fails is said."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tare.commands import compare
from tare.errors import TareError

needs_core = pytest.mark.skipif(
    importlib.util.find_spec("tare._core") is None, reason="the extension module isn't built"
)


def test_two_commands_are_told_apart() -> None:
    assert compare.split(["a", "-x", "--", "b"]) == (["a", "-x"], ["b"])
    for words in (["a"], ["a", "--"], ["--", "b"], []):
        with pytest.raises(TareError, match="two commands"):
            compare.split(words)


def test_ratios_are_of_pairs_with_their_range() -> None:
    ratio = compare.ratio_of("cpu", "s", [1.0, 2.0, 4.0], [0.5, 1.2, 1.8])
    assert (ratio.ratio, ratio.low, ratio.high) == (0.5, 0.45, 0.6)
    assert (ratio.before, ratio.after) == (2.0, 1.2)
    assert compare.ratio_of("faults", "", [0.0], [5.0]).ratio is None


def test_a_verdict_needs_the_whole_range_on_one_side() -> None:
    texts = [
        "\n".join(compare.lines((["a"], ["b"]), [compare.ratio_of("cpu", "s", [1.0, 1.0], after)], 2, 100))
        for after in ([0.5, 0.6], [1.5, 1.6], [0.9, 1.1])
    ]
    assert [text.rsplit("]  ", 1)[1] for text in texts] == ["less", "more", "no clear change"]


@pytest.mark.parametrize("width", [40, 79, 80, 200])
def test_the_width_is_kept(width: int) -> None:
    commands = (["./a-program-of-some-length", "--with", "options"], ["./another", "--with", "more", "of", "them"])
    ratios = [compare.ratio_of("malloc calls", "", [123_456.0, 150_000.0], [123_000.0, 160_000.0])]
    told = list(compare.lines(commands, ratios, 20, width))
    assert all(len(line) <= width for line in told)
    assert "no clear change" in " ".join(" ".join(told).split())


@needs_core
def test_real_runs_are_measured() -> None:
    busy = [sys.executable, "-Ic", "s = [0] * 4_000_000\nfor i in range(300_000): s[i] = i"]
    idle = [sys.executable, "-Ic", "pass"]
    samples = compare.interleave((busy, idle), 2)
    ratios = {
        metric: compare.ratio_of(
            metric, unit, [getattr(s, metric) for s in samples[0]], [getattr(s, metric) for s in samples[1]]
        )
        for metric, unit in compare._METRICS
    }
    assert all(len(side) == 2 for side in samples)
    for metric in ("cpu", "rss", "faults"):
        high = ratios[metric].high
        assert high is not None and high < 1, metric


@needs_core
def test_small_programs_have_small_peaks() -> None:
    assert compare.measure(["true"]).rss < 6 << 20  # under Python it would be Python's


@needs_core
def test_failing_commands_end_it() -> None:
    with pytest.raises(TareError, match="ended with status 3"):
        compare.measure([sys.executable, "-Ic", "raise SystemExit(3)"])
    with pytest.raises(TareError, match="was killed by signal 9"):
        compare.measure(["sh", "-c", "kill -9 $$"])
    with pytest.raises(TareError, match="can't start"):
        compare.measure(["./no-such-program"])


@needs_core
def test_a_recorded_run_that_fails_counts_nothing() -> None:
    with pytest.raises(TareError, match="ended with status 3"):
        compare.malloc_calls(["sh", "-c", "exit 3"])


@needs_core
def test_runs_end_with_who_asked_for_them(tmp_path: Path) -> None:
    """Killed without a word: the command under measurement mustn't run on."""
    told = tmp_path / "pid"
    script = (
        f"from tare.commands import compare; compare.measure(['sh', '-c', 'echo $$ > {told}.new; mv {told}.new {told}; "
        "exec sleep 300'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    while not told.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    pid = int(told.read_text())
    for _ in range(6000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
        except FileNotFoundError:
            return
        if state == "Z":  # nobody waits for it here
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the command runs on")
