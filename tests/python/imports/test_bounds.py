"""Files of 1 MB that would cost most of their readers: each is read, or refused by one line, within 10 s and 1 GiB."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from goldens import MEMRAY, signed, varint

MEGABYTE = 1 << 20
SECONDS, BYTES = 10, 1 << 30


def repeated(text: str, head: str = "", tail: str = "", most: int = MEGABYTE) -> bytes:
    """`text` with its number in it, as often as it fits."""
    parts, size = [head], len(head) + len(tail)
    while size < most - 80:
        parts.append(text.replace("#", f"{len(parts):x}"))
        size += len(parts[-1])
    return ("".join(parts) + tail).encode()


def heaptrack_command() -> bytes:
    return b"v 10400 3\nX " + b"a " * (MEGABYTE // 4) + b"\n" * (MEGABYTE // 2)


def heaptrack_modules() -> bytes:
    modules = "".join(f"m 1 x {at:x}000 0 1000\n" for at in range(1, 20_000))
    return repeated("t #000 0\n+ 10 # #0\n", "v 10400 3\nx 1 a\n" + modules)


def dhat(fs: str, points: str, frames: str) -> bytes:
    head = (
        '{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":false,"cmd":"./app","pid":1,"pps":['
    )
    return (head + points.replace("@", fs) + '],"ftbl":' + frames + "}").encode()


def dhat_portions() -> bytes:
    point = '{"tb":999999999999,"tbk":99999,"gb":1,"gbk":1,"eb":0,"ebk":0,"fs":[@]}'
    return dhat("1", ",".join([point] * 13_000), '["[root]","0x1: f"]')


def dhat_frames(text: str) -> Callable[[], bytes]:
    frame = "0x1: " + text * (MEGABYTE // len(text))
    return lambda: dhat("1", "", json.dumps(["[root]", frame]))


def massif(text: str) -> Callable[[], bytes]:
    head = "desc: x\ncmd: ./app\ntime_unit: i\n#-\nsnapshot=0\n#-\nmem_heap_B=9\nheap_tree=peak\nn0: 9 0x1: "
    return lambda: (head + text * ((MEGABYTE - len(head)) // len(text))).encode()


def memray(body: bytes) -> bytes:
    head = MEMRAY[: MEMRAY.index(b"/path\0\0") + 7]
    start = bytes([12]) + bytes(8)
    return head + start + (body * (MEGABYTE // len(body)))[: MEGABYTE - len(head) - 9]


def memray_unmapped() -> bytes:
    mapped = bytes([0x80 | 15 << 3]) + signed(2) + bytes([14]) + varint(16)
    partly = bytes([0x80 | 15 << 3]) + signed(0) + bytes([15]) + varint(8)
    return memray(mapped * 60_000)[: MEGABYTE // 2] + partly * 60_000


def lz4_of_tiny_blocks() -> bytes:
    content = memray(bytes([0x80 | 15 << 3 | 6]) + signed(2) + varint(100))[: MEGABYTE // 5 - 10]
    blocks = b"".join((1 | 1 << 31).to_bytes(4, "little") + bytes([byte]) for byte in content)
    return b"\x04\x22\x4d\x18\x40\x40\xc0" + blocks + bytes(4)


def tiny_gzip_members() -> bytes:
    return gzip.compress(b"0x1000 ") * (MEGABYTE // 30)


def gzip_bomb(text: bytes) -> Callable[[], bytes]:
    return lambda: gzip.compress(text * (200_000_000 // len(text)), 9)[:MEGABYTE]


def jeprof_maps() -> bytes:
    maps = "".join(f"{at:x}000-{at + 1:x}000 r-xp 00000000 08:01 1 /a\n" for at in range(1, 12_000))
    return repeated("@ 0x#000\n  t*: 1: 1 [1: 1]\n", "heap_v2/1\n", "MAPPED_LIBRARIES:\n" + maps)


CASES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "command of many lines": ("heaptrack", heaptrack_command),
    "many modules": ("heaptrack", heaptrack_modules),
    "many names": ("heaptrack", lambda: repeated("s 1 a\n", "v 10400 3\n")),
    "packed names": ("heaptrack", lambda: gzip.compress(b"v 10400 3\n" + b"s 1 a\n" * 10_000_000, 1)[:MEGABYTE]),
    "portions": ("dhat", dhat_portions),
    "frames of places": ("dhat", dhat_frames(" (in ")),
    "frames of parentheses": ("dhat", dhat_frames(" (a:1)")),
    "nested": ("dhat", lambda: b'{"dhatFileVersion":2,' + b"[" * MEGABYTE),
    "packed objects": ("dhat", gzip_bomb(b"[],")),
    "a place of places": ("massif", massif(" (in ")),
    "a place of parentheses": ("massif", massif(" (a:1)")),
    "packed fields": ("pprof", gzip_bomb(b"\x08\x01")),
    "fields": ("pprof", lambda: b"\x08\x01" * (MEGABYTE // 2)),
    "unmapped parts": ("memray", memray_unmapped),
    "live blocks": ("memray", lambda: memray(bytes([0x80 | 15 << 3 | 6]) + signed(2) + varint(100))),
    "blocks of a byte": ("memray", lz4_of_tiny_blocks),
    "members of a word": ("ltrace", tiny_gzip_members),
    "calls": ("ltrace", lambda: repeated("malloc(1) = 0x#0\n")),
    "many maps": ("jeprof", jeprof_maps),
}

PROGRAM = """
import re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from tare.cli import main
status = main(["import", sys.argv[1], "--from", sys.argv[2], "-o", sys.argv[1] + ".tare"])
# ru_maxrss would include the peak of the process that started this one: exec keeps it
print(int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024)
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_megabyte_costs_ten_seconds_and_a_gigabyte_at_most(name: str, tmp_path: Path) -> None:
    format_name, make = CASES[name]
    source = tmp_path / "source"
    source.write_bytes(make())
    assert source.stat().st_size <= MEGABYTE + 1000
    command = [sys.executable, "-c", PROGRAM.format(seconds=SECONDS), source, format_name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 3), (done.returncode, done.stderr)
    if done.returncode == 3:
        assert len(done.stderr.splitlines()) == 1 and "is damaged" in done.stderr, done.stderr
    assert int(done.stdout) < BYTES


def test_a_pipe_named_by_a_profile_is_not_opened(tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    source = tmp_path / "source"
    maps = f"MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 {pipe}\n"
    source.write_text(f"heap_v2/1\n@ 0x401000\n  t*: 1: 1 [1: 1]\n{maps}")
    command = [sys.executable, "-m", "tare", "import", source, "-o", tmp_path / "out.tare"]
    assert subprocess.run(command, timeout=60, capture_output=True).returncode == 0
