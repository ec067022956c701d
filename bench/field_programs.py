"""Ten real programs of different kinds, each with work that is the same in every run: the subjects of docs/field-notes.md."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.measure import ROOT

WORKLOADS = ROOT / "bench/workloads"
INPUTS = ROOT / "build/field-inputs"


@dataclass(frozen=True)
class Program:
    name: str
    kind: str
    work: str
    command: list[str]  # the first is looked for in the folder of --programs, then in PATH
    environment: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], None] | None = None  # makes its input, in its own folder of INPUTS, once
    client: Callable[[Path], bytes] | None = None  # of a server: sends requests, ends it, returns its answers
    output: str = ""  # a file that it writes in the folder where it runs, beside stdout


def made_by(script: str, *arguments: str) -> bytes:
    return subprocess.run([sys.executable, WORKLOADS / script, *arguments], stdout=subprocess.PIPE, check=True).stdout


def hard_source(folder: Path) -> None:
    (folder / "heavy.cc").write_bytes(made_by("heavy_cpp.py", "2"))
    subprocess.run(["g++", "-std=c++20", "-E", "heavy.cc", "-o", "heavy.ii"], cwd=folder, check=True)


def history(folder: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", folder / "history"], check=True)
    subprocess.run(
        ["git", "-C", folder / "history", "fast-import", "--quiet", "--force"],
        input=made_by("git_history.py", "3000"),
        check=True,
    )
    subprocess.run(["git", "-C", folder / "history", "repack", "-adq"], check=True)


def fewer_rows(folder: Path) -> None:
    script = (WORKLOADS / "million_rows.sql").read_text()
    (folder / "rows.sql").write_text(script.replace("n < 1000000", "n < 100000"))


def sources(folder: Path) -> None:
    """A tree of 1,200 files as the history has them."""
    text = made_by("git_history.py", "400").splitlines(keepends=True)
    for number in range(1200):
        file = folder / "tree" / f"part{number % 40:02}" / f"file{number:04}.c"
        file.parent.mkdir(parents=True, exist_ok=True)
        start = number * 37 % max(len(text) - 200, 1)
        file.write_bytes(b"".join(text[start : start + 50 + number % 150]))
    (folder / "tree/.gitignore").write_text("*.o\nbuild/\n/part0[3-5]/\n!keep.c\n")


def picture(folder: Path) -> None:
    """A portable pixmap of 800 by 600, of waves."""
    rows = bytearray(b"P6\n800 600\n255\n")
    for y in range(600):
        for x in range(800):
            rows += bytes(((x * y) >> 6 & 255, (x + 2 * y) & 255, (x * x + y * y) >> 8 & 255))
    (folder / "waves.ppm").write_bytes(rows)


def classes(folder: Path) -> None:
    subprocess.run(["javac", "-d", folder, WORKLOADS / "field/Parcels.java"], check=True)


def connected(path: Path) -> socket.socket:
    """To a server that is just starting; a recorded one takes longer."""
    for _ in range(600):
        talk = socket.socket(socket.AF_UNIX)
        try:
            talk.connect(str(path))
            return talk
        except OSError:
            talk.close()
            time.sleep(0.05)
    raise RuntimeError(f"nobody listens at {path}")


def redis_requests() -> list[list[str]]:
    requests: list[list[str]] = []
    for i in range(6000):
        requests.append(["SET", f"parcel:{i}", f"weighs {i * 31 % 4096} g, and has a label of {i % 97 * 'x'}"])
        requests.append(["HSET", f"sender:{i % 500}", f"parcel{i}", str(i * 17 % 64)])
        requests.append(["ZADD", "weights", str(i * 31 % 4096), f"parcel:{i}"])
        requests.append(["LPUSH", f"queue:{i % 40}", f"parcel {i}"])
        if i % 3 == 0:
            requests.append(["SADD", "towns", f"town {i * 7919 % 1009}"])
            requests.append(["GET", f"parcel:{i // 2}"])
    requests += [["HGETALL", f"sender:{i}"] for i in range(0, 500, 10)]
    requests += [["LRANGE", f"queue:{i}", "0", "-1"] for i in range(40)]
    requests += [
        ["ZRANGEBYSCORE", "weights", "100", "900", "WITHSCORES"],
        ["DEL", *(f"parcel:{i}" for i in range(3000))],
    ]
    requests += [
        ["EVAL", "local s = 0 for i = 1, 300 do s = s + redis.call('LLEN', 'queue:' .. i % 40) end return s", "0"]
    ]
    return [*requests, ["DBSIZE"], ["DEBUG", "DIGEST"]]


def redis_client(folder: Path) -> bytes:
    """Sends each of the requests as redis-cli does, and reads all answers; then ends the server."""
    with connected(folder / "redis.sock") as talk:
        answers = b""
        talk.settimeout(60)
        requests = redis_requests()
        for start in range(0, len(requests), 50):
            part = requests[start : start + 50]
            for request in [*part, ["PING", f"end of {start}"]]:
                words = "".join(f"${len(word)}\r\n{word}\r\n" for word in request)
                talk.sendall(f"*{len(request)}\r\n{words}".encode())
            while not answers.endswith(f"end of {start}\r\n".encode()):
                answers += talk.recv(1 << 16)
        talk.sendall(b"SHUTDOWN NOSAVE\r\n")
        while talk.recv(1 << 16):
            pass
        return answers


def programs() -> list[Program]:
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=False).stdout
    return [
        Program(
            "cc1plus", "compiler", "a generated file of regexes, maps, ranges and variants at -O2",
            [compiler.strip() or "cc1plus", "-quiet", "-fpreprocessed", "-std=c++20", "-O2", "@/heavy.ii", "-o", "-"],
            prepare=hard_source,
        ),
        Program(
            "python3.11", "interpreter", "JSON written and read back, dicts, sorting; every object a malloc",
            ["python3.11", str(WORKLOADS / "json_dicts.py"), "1"],
            {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        ),
        Program(
            "git", "version control", "`git log --stat` over 3,000 commits",
            ["git", "-C", "@/history", "log", "--stat", "main"],
            prepare=history,
        ),
        Program(
            "sqlite3", "database", "100,000 rows in memory, an index, grouping and sorting",
            ["sqlite3", ":memory:", ".read @/rows.sql"],
            prepare=fewer_rows,
        ),
        Program(
            "lua", "interpreter", "tables, strings, closures, a coroutine, patterns",
            ["lua", str(WORKLOADS / "field/shop.lua")],
        ),
        Program(
            "redis", "server under load", "30,000 requests over a socket: strings, hashes, sorted sets, lists, a script",
            ["redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--enable-debug-command", "yes"],
            client=redis_client,
        ),
        Program(
            "vim", "desktop tool", "6,000 lines filled, changed, sorted, undone and written",
            ["vim", "-u", "NONE", "-i", "NONE", "-N", "-n", "-es", "-S", str(WORKLOADS / "field/edit.vim")],
            output="edited.txt",
        ),
        Program(
            "ripgrep", "Rust program", "a pattern searched in a tree of 1,200 files",
            ["rg", "--sort", "path", "-n", "--no-require-git", r"find_\w+ .*(page|heap)", "@/tree"],
            prepare=sources,
        ),
        Program(
            "java", "a JVM's native side", "classes made at run time, threads, regexes, zlib",
            ["java", "-Xshare:auto", "-Xmx64m", "-XX:+UseSerialGC", "-cp", "@/", "Parcels"],
            prepare=classes,
        ),
        Program(
            "imagemagick", "media tool", "a picture of 800 by 600 resized, blurred, quantized to 64 colours, written as PNG",
            ["convert-im6.q16", "@/waves.ppm", "-resize", "60%", "-blur", "0x2", "-colors", "64", "-strip", "png:-"],
            {"MAGICK_THREAD_LIMIT": "1", "OMP_NUM_THREADS": "1"},
            prepare=picture,
        ),
    ]  # fmt: skip


def ready(program: Program, folder_of_builds: Path | None) -> list[str] | None:
    """Its command with inputs made and paths filled in; None where it isn't installed."""
    inputs = INPUTS / program.name
    first, *rest = program.command
    own = folder_of_builds / Path(first).name if folder_of_builds else None
    found = str(own) if own and own.exists() else shutil.which(first)
    if found is None:
        return None
    done = inputs / ".done"
    if program.prepare and not done.exists():
        shutil.rmtree(inputs, ignore_errors=True)
        inputs.mkdir(parents=True)
        program.prepare(inputs)
        done.touch()
    return [found, *(word.replace("@/", f"{inputs}/") for word in rest)]
