"""Programs as they come: each behaves as without tare, and its recording replays without an impossible event."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

# name: what must be installed, the shell's line, and how many processes must have left a trace at least
LINES = {
    "compiler": ("g++", "echo 'int main() { return 3; }' > a.cc; g++ -g a.cc -o a && ./a", 4),
    "make": ("make", "printf 'all: a b\\na b:\\n\\techo $@ > $@\\n' > Makefile; make -s -B -j2; cat a b", 3),
    "git": (
        "git",
        "git init -q g; cd g; echo 1 > f; git add f; git -c user.name=x -c user.email=y@z commit -qm one; "
        "git gc -q; git clone -q . ../h; cd ../h; git fetch -q; git log -1 --format=%s; cd ..; rm -rf g h",
        8,
    ),
    "python": (
        "python3",
        "python3 -c 'import threading, subprocess, os\n"
        "ts = [threading.Thread(target=lambda: [str(i) * 9 for i in range(999)]) for _ in range(4)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]\n"
        'print(subprocess.run(["echo", "hi"], capture_output=True).stdout)\n'
        "pid = os.fork()\n"
        "if not pid: os._exit(7)\n"
        "print(os.waitpid(pid, 0)[1])'; exit 5",
        2,
    ),
    "perl": ("perl", "perl -e 'my %h; $h{$_} = \"x$_\" for 1..9999; print scalar(keys %h), `echo sub`; exit 5'", 2),
    "vim": ("vim", "echo hello > v; vim -es -u NONE -c '%s/hello/bye/' -c 'wq!' v; cat v", 2),
    "gdb": ("gdb", "gdb -batch -nx -ex 'print 6 * 7'", 2),
    "sqlite3": (
        "sqlite3",
        "sqlite3 :memory: 'create table t(a); insert into t values (1), (2); select sum(a) from t;'",
        1,
    ),
    "java": ("java", "java -version 2>&1 | wc -l", 2),
    "node": ("node", "node -e 'console.log(new Array(9999).fill(1).length); process.exit(6)'", 1),
    "busybox": ("busybox", "busybox echo static; exit 2", 1),
    "many short ones": ("bash", "bash -c 'for i in $(seq 60); do x=$(echo $i | sed s/1/2/); done; echo $x'", 120),
    "wrappers": ("timeout", "env A=1 timeout 9 nice sh -c 'echo $A; exit 6'", 1),
    "killed": ("sh", "kill -SEGV $$", 1),
    "little address space": ("ls", "ulimit -v 100000; ls /; exit 1", 1),
    "four descriptors": ("ls", "ulimit -n 4; ls /; exit 1", 1),
}


@pytest.mark.parametrize("options", [(), ("--content",)], ids=" ".join)
@pytest.mark.parametrize("name", LINES)
def test_behaves_as_without_tare(tare: Tare, tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    needed, line, least = LINES[name]
    if shutil.which(needed) is None:
        pytest.skip(f"{needed} isn't installed")
    command = ["sh", "-c", line]
    native = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=60)
    recorded = subprocess.run(
        [tare.command, "run", "-q", *options, "-o", "t.tare", "--", *command],
        capture_output=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (native.returncode, native.stdout, native.stderr)
    traces = [tmp_path / "t.tare", *tare.others("t.tare")]
    assert len(traces) >= least
    for trace in traces[:6]:
        report = tare.report(trace)
        assert report["impossible_events"] == report["dropped_events"] == 0, trace.name


HISTORY = """git init -q . && git config user.name x && git config user.email y@z && git config gc.auto 0
for i in $(seq 300); do seq $i $((i + 40)) > f$((i % 20)); git add . && git commit -qm $i; done"""


def test_zlibs_windows_that_git_never_fills_are_found(tare: Tare, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git isn't installed")
    subprocess.run(["sh", "-c", HISTORY], check=True, capture_output=True, cwd=tmp_path)
    trace = tare.record("git", "-C", tmp_path, "log", "--stat", options=("--content",))
    windows = tare.sql(
        trace,
        "select sum(ended_blocks) as blocks, max(max_high_water_bytes) as mark from written"
        " where requested_bytes = 32768",
    )
    assert windows[0]["blocks"] >= 100
    assert windows[0]["mark"] < 1000
    found = [f for f in tare.report(trace)["findings"] if f["lens"] == "unwritten"]
    assert any("of 32,768 bytes are written" in finding["remedy"] for finding in found)
