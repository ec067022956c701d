"""The matrix of programs that a recorder could harm: a row says how a program is made, run, and what must be there.

A program of programs/ is `source`, built with `flags`; the word PROGRAM in `command` stands for it. Without a source the
command is all. What a row needs and this machine lacks leaves the row out, with the reason.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field

from unharmed import MODES

PROGRAM = "PROGRAM"
ARCHIVES = "/usr/lib/x86_64-linux-gnu"
CARGO = os.path.expanduser(os.environ.get("CARGO_HOME", "~/.cargo")) + "/bin"
PATH = f"{os.environ.get('PATH', '')}:{CARGO}:/usr/local/go/bin"


def whole(archive: str) -> tuple[str, ...]:
    return (f"-Wl,--whole-archive,{ARCHIVES}/{archive},--no-whole-archive", "-ldl", "-lm", "-lstdc++")


@dataclass(frozen=True)
class Row:
    name: str
    command: tuple[str, ...] = (PROGRAM,)
    source: str = ""
    flags: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()  # commands that make what the row runs
    files: Mapping[str, str] = field(default_factory=dict)  # in the folder where it runs
    around: tuple[str, ...] = ()  # a command that starts the launcher, and natively the program
    needs: tuple[str, ...] = ()  # files, or commands on the path
    notice: bytes = b""  # of the launcher's one line, where one is due
    may_say: bytes = b""  # of lines that depend on the load of the machine
    control: bool = True  # also with tcmalloc preloaded
    modes: tuple[str, ...] = tuple(MODES)
    timeout_s: float = 120
    nightly: bool = False

    def lacks(self) -> str:
        """The reason why the row can't run here; empty if it can."""
        for need in self.needs:
            if not (glob.glob(need) if need.startswith("/") else shutil.which(need, path=PATH)):
                return f"{need} is not there"
        if self.around:
            done = subprocess.run([*self.around, "true"], capture_output=True, text=True)
            if done.returncode != 0:
                return f"{self.around[0]}: {done.stderr.strip()}"
        return ""


def limited(limit: str, *command: str) -> tuple[str, ...]:
    """The command in a shell with this limit of `ulimit`'s."""
    return ("sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *command)


def in_mounts(script: str) -> tuple[str, ...]:
    """In a namespace where the script has changed what is mounted."""
    return ("unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh")


RUST_PROGRAM = """
use std::collections::HashMap;
fn main() {
    let threads: Vec<_> = (0..4u64).map(|seed| std::thread::spawn(move || {
        let mut table: HashMap<u64, Vec<u8>> = HashMap::new();
        for i in 0..5000 { table.entry(i * seed % 97).or_default().push(i as u8); }
        table.values().map(|row| row.len()).sum::<usize>()
    })).collect();
    println!("{}", threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>());
    std::process::exit(5);
}
"""
GO_PROGRAM = """
package main
import ("fmt"; "os"; "sync")
func main() {
    var wait sync.WaitGroup
    sums := make([]int, 20)
    for i := range sums {
        wait.Add(1)
        go func(at int) { defer wait.Done(); for j := 0; j < 1000; j++ { sums[at] += len(make([]byte, j)) } }(i)
    }
    wait.Wait()
    fmt.Println(sums[0] * len(sums))
    os.Exit(6)
}
"""
ONE_LIBRARY = """
#include <stdlib.h>
#include <string.h>
char* grab(size_t bytes) { return memset(calloc(bytes, 1), 1, bytes - 1); }
"""
CHILDREN_OF_PYTHON = """
import multiprocessing, sys
def square(value): return value * value
if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(2) as pool: print(pool.map(square, range(20)))
    sys.exit(4)
"""
PAGE = "<p id=x></p><script>document.getElementById('x').textContent = [1, 2].map(String).join()</script>"

ROWS = [
    # ---- allocators in the program
    Row("jemalloc-c++", source="cpp_calls.cc", flags=whole("libjemalloc.a")),
    Row("tcmalloc-c++", source="cpp_calls.cc", flags=whole("libtcmalloc_minimal.a")),
    Row("mimalloc-c++", source="cpp_calls.cc", flags=("-Wl,--no-as-needed", f"{ARCHIVES}/libmimalloc.so.2.0")),
    Row("c++", source="cpp_calls.cc"),
    Row("static-libstdc++", source="cpp_calls.cc", flags=("-static-libstdc++", "-static-libgcc")),
    # ---- processes
    Row("32-bit", ("sh", "-c", '"$0"; echo $?', PROGRAM), "says_hello.c", ("-m32",), control=False, notice=b"32 bits"),
    Row("address-sanitizer", ("sh", "-c", '"$0"; echo $?', PROGRAM), "plain_calls.c", ("-fsanitize=address",),
        control=False, notice=b"sanitizer"),
    Row("thread-sanitizer", ("sh", "-c", '"$0"; echo $?', PROGRAM), "says_hello.c", ("-fsanitize=thread",),
        control=False, notice=b"sanitizer"),
    Row("undefined-sanitizer", source="plain_calls.c", flags=("-fsanitize=undefined",)),
    Row("python-children", ("python3", "children.py"), files={"children.py": CHILDREN_OF_PYTHON}, timeout_s=300),
    Row("closes-all", source="closes_all.c"),
    # ---- stacks, signals, threads
    Row("boost-coroutines", source="boost_coroutines.cc", flags=("-lboost_context",),
        needs=("/usr/include/boost/context/fiber.hpp",)),
    Row("own-switch", source="own_switch.c"),
    Row("stack-of-8-bytes-alignment", source="odd_stack.cc", control=False),
    Row("storm", source="storm.c", flags=("-ldl",)),
    Row("threads-alive", (PROGRAM, "500"), "threads_alive.c"),
    Row("many-libraries", (PROGRAM, "500"), "many_libraries.c", ("-ldl",), files={"one.c": ONE_LIBRARY},
        before=(("cc", "-shared", "-fPIC", "one.c", "-o", "one.so"),)),
    # ---- memory
    Row("io-uring", source="ring.c"),
    Row("untouched-pages", source="untouched_pages.c", modes=("content", "snapshots")),
    # ---- limits for the program
    Row("files-of-no-bytes", limited("-f 0", PROGRAM), "plain_calls.c", notice=b"ulimit -f"),
    Row("few-descriptors", limited("-n 8", PROGRAM), "plain_calls.c"),
    Row("small-stack", limited("-s 100", PROGRAM), "plain_calls.c"),
    Row("little-data", limited("-d 60000", PROGRAM), "plain_calls.c"),
    Row("no-locked-memory", limited("-l 0", PROGRAM), "plain_calls.c"),
    Row("core-files", limited("-c unlimited", "sh", "-c", "kill -SEGV $$")),
    Row("processor-time", limited("-S -t 1", "sh", "-c", "while :; do :; done"), control=False),
    # ---- limits for the launcher too
    Row("launcher-small-stack", source="plain_calls.c", around=limited("-s 200")),
    Row("launcher-few-descriptors", source="plain_calls.c", around=limited("-n 24")),
    Row("launcher-no-locked-memory", source="plain_calls.c", around=limited("-l 0")),
    Row("no-shared-memory", source="plain_calls.c", around=in_mounts("umount /dev/shm")),
    Row("full-shared-memory", source="plain_calls.c",
        around=in_mounts("mount -t tmpfs -o size=64k none /dev/shm")),
    Row("unwritable-shared-memory", source="plain_calls.c", around=in_mounts("mount -t tmpfs -o ro none /dev/shm")),
    # ---- long rows
    # A thread that gets no processor for 2 s may hold an event that others' events were merged past: one run of 12 beside another test.
    Row("10000-threads-alive", (PROGRAM, "10000"), "threads_alive.c", may_say=b"events came too far apart", timeout_s=600),
    Row("2000000-threads", (PROGRAM, "2000000"), "threads_in_turn.c", timeout_s=3000, modes=("plain", "sample"),
        control=False, nightly=True),
    Row("rust-jemalloc", ("./rust",), files={"rust.rs": RUST_PROGRAM}, needs=("rustc", f"{ARCHIVES}/libjemalloc.a"),
        before=(("rustc", "rust.rs", "-o", "rust", *(f"-Clink-arg={flag}" for flag in whole("libjemalloc.a"))),),
        nightly=True),
    Row("rust", ("./rust",), files={"rust.rs": RUST_PROGRAM}, needs=("rustc",), before=(("rustc", "rust.rs"),),
        nightly=True),
    Row("cargo", ("sh", "-c", "rm -rf target && cargo build --offline -q && target/debug/empty"), needs=("cargo",),
        files={"Cargo.toml": '[package]\nname = "empty"\nversion = "0.1.0"\nedition = "2021"\n',
               "src/main.rs": RUST_PROGRAM}, control=False, timeout_s=600, nightly=True),
    Row("go", ("sh", "-c", "./program; echo $?"), files={"program.go": GO_PROGRAM}, needs=("go",), nightly=True, control=False,
        before=(("go", "build", "program.go"),), notice=b"linked statically"),
    Row("go-compiler", ("sh", "-c", "go build -o program program.go; echo $?"), files={"program.go": GO_PROGRAM},
        needs=("go",), control=False, notice=b"tare: ", nightly=True, timeout_s=600),
    Row("chromium", ("sh", "-c", "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
        "--user-data-dir=$PWD/profile --dump-dom page.html 2>/dev/null"),
        files={"page.html": PAGE}, needs=("chromium",), control=False, may_say=b"no snapshot of process", timeout_s=600, nightly=True),
]  # fmt: skip
