"""Language runtimes, compilers and large programs, where they are installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unharmed import assert_unharmed

if TYPE_CHECKING:
    from conftest import Tare

JAVA = """
public class Main {
  public static void main(String[] words) throws Exception {
    Thread thread = new Thread(() -> System.out.println("thread"));
    thread.start();
    thread.join();
    System.exit(3);
  }
}
"""
WORKER = (
    'const worker = new (require("worker_threads").Worker)'
    "(\"require('worker_threads').parentPort.postMessage(7)\", {eval: true});"
    'worker.on("message", (value) => { console.log(value); process.exitCode = 4; });'
)
RUST = """
fn main() {
    let thread = std::thread::spawn(|| vec![1u8; 1000].len());
    println!("{}", thread.join().unwrap());
    std::process::exit(5);
}
"""

PROGRAMS = {
    "node": ["node", "-e", WORKER],
    "java": ["java", "Main.java"],
    "sqlite": ["sqlite3", ":memory:", "create table t(a); insert into t values(1), (2); select sum(a) from t;"],
    "emacs": ["emacs", "--batch", "--eval", "(progn (princ (+ 1 2)) (kill-emacs 3))"],
    "gnuplot": ["gnuplot", "-e", "print 1 + 2; exit status 4"],
    "ffmpeg": [
        "ffmpeg",
        "-hide_banner",
        "-loglevel",
        "error",
        "-f",
        "lavfi",
        "-i",
        "testsrc=duration=0.2",
        "-f",
        "null",
        "-",
    ],
    "busybox": ["busybox", "sh", "-c", "echo one | busybox tr o 0; exit 6"],
}


@pytest.mark.parametrize("mode", ["plain", "content"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end_as_they_do_natively(tare: Tare, name: str, mode: str) -> None:
    command = PROGRAMS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    (tare.folder / "Main.java").write_text(JAVA)
    assert_unharmed(tare, command, modes=[mode])


@pytest.mark.parametrize("mode", ["plain", "content"])
def test_rust(tare: Tare, mode: str) -> None:
    """The compiler has an allocator linked into it, which is called before main; its programs have none."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin"
    rustc = shutil.which("rustc", path=f"{os.environ.get('PATH', '')}:{cargo}")
    if rustc is None:
        pytest.skip("rustc is not installed")
    (tare.folder / "program.rs").write_text(RUST)
    assert_unharmed(tare, [rustc, "program.rs", "-o", "program"], modes=[mode])
    assert_unharmed(tare, [tare.folder / "program"], modes=[mode])
