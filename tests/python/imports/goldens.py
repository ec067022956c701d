"""A small file of each format, whose sums follow from reading it."""

from __future__ import annotations

import gzip
import json

from tare.exports.wire import data, number, packed

# 100 bytes of `leaf` (inlined into `caller`), freed at once; 32 of `caller` twice, one of them freed after a realloc-like pair.
HEAPTRACK = b"""v 10400 3
X ./app --flag
I 1000 5e298f
s 8 /bin/app
s 4 leaf
s 6 caller
s 5 app.c
s 4 main
i 401000 1 2 4 c 3 4 22
t 1 0
i 401100 1 5 4 30
t 2 0
t 1 2
a 64 3
+ 0
- 0
c 14
R 10
i 401200 1 3 4 40
t 3 2
a 20 4
+ 1
+ 1
a 40 4
+ 2
c 1e
- 1
# a comment
c 28
"""

RAW = b"""v 10400 3
x 8 /bin/app
X /bin/app
I 1000 5e298f
m 1 -
m 1 x 400000 0 2000
t 401000 0
t 401100 1
+ 64 1 7000
+ 20 2 7100
c a
- 7000
- 9999
+ 10 1 7000
c 14
"""

DHAT = json.dumps(
    {
        "dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": True, "tu": "instrs", "Mtu": "Minstr",
        "cmd": "./app --flag", "pid": 4711, "te": 1000, "tg": 500,
        "pps": [
            {"tb": 1000, "tbk": 10, "mb": 300, "mbk": 3, "gb": 300, "gbk": 3, "eb": 100, "ebk": 1, "fs": [1, 2]},
            {"tb": 70, "tbk": 7, "mb": 10, "mbk": 1, "gb": 0, "gbk": 0, "eb": 0, "ebk": 0, "fs": [2]},
        ],
        "ftbl": ["[root]", "0x10A: leaf (app.c:12)", "0x20B: main (in /bin/app)"],
    }
).encode()  # fmt: skip

MASSIF = b"""desc: --massif-out-file=massif.out
cmd: ./app --flag
time_unit: i
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
#-----------
snapshot=1
#-----------
time=100
mem_heap_B=1000
mem_heap_extra_B=24
mem_stacks_B=0
heap_tree=peak
n2: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 900 0x10916E: leaf (app.c:12)
  n0: 600 0x109200: main (app.c:30)
 n0: 100 in 2 places, all below massif's threshold (1.00%)
"""

JEMALLOC = b"""heap_v2/1
  t*: 3: 384 [10: 1280]
  t0: 3: 384 [10: 1280]
@ 0x401000 0x402000
  t*: 2: 256 [8: 1024]
  t0: 2: 256 [8: 1024]
@ 0x403000
  t*: 1: 128 [2: 256]
  t0: 1: 128 [2: 256]

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 08:01 1234   /nowhere/app
"""

TCMALLOC = b"""heap profile:      3:      300 [     10:     1000] @ heapprofile
     2:      200 [      8:      800] @ 0x401000 0x402000
     1:      100 [      2:      200] @ 0x403000

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 08:01 1234   /nowhere/app
"""

LTRACE = b"""[pid 7] 1700000000.000000 app->malloc(100)        = 0x1000
[pid 7] 1700000000.100000 libx.so->calloc(4, 25)  = 0x2000
[pid 8] 1700000000.200000 app->malloc(50 <unfinished ...>
[pid 7] 1700000000.300000 app->realloc(0x1000, 300) = 0x3000
[pid 8] 1700000000.400000 <... malloc resumed> )  = 0x4000
[pid 7] 1700000000.500000 app->free(0x2000)       = <void>
[pid 7] 1700000001.000000 app->strlen("free")     = 4
"""


def _function(identity: int, name: int, file: int) -> bytes:
    return data(5, number(1, identity) + number(2, name) + number(4, file))


def _location(identity: int, address: int, *lines: tuple[int, int]) -> bytes:
    inner = b"".join(data(4, number(1, function) + number(2, line)) for function, line in lines)
    return data(4, number(1, identity) + number(2, 1) + number(3, address) + inner)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else -value * 2 - 1)


def _memray(native: bool) -> bytes:
    """malloc(100) in leaf, called by main in its line 11; calloc(30) in main; the first is freed; mmap of 8 KiB, its second half unmapped."""
    head = (
        b"memray\0" + (13).to_bytes(4, "little") + 0x030B07F0.to_bytes(4, "little") + bytes([native, 0]) + bytes(16)
        + (1_700_000_000_000).to_bytes(8, "little") + (1_700_000_000_050).to_bytes(8, "little")
        + b"app.py --flag\0" + (4711).to_bytes(4, "little") + bytes(8 + 8 + 3) + b"/lib\0" + b"\0" + b"/path\0\0"
    )  # fmt: skip
    # an instruction of 2 units in the first line (NO_COLUMNS, +0), then 1 unit in the next (ONE_LINE1)
    lines = bytes([0x80 | 13 << 3 | 1, 0, 0x80 | 11 << 3 | 0, 4, 9])
    native_id = signed(0) if native else b""

    def code(number: int, name: bytes, delta: int) -> bytes:
        return bytes([14]) + varint(number) + name + b"\0app.py\0" + signed(delta) + varint(len(lines)) + lines

    def allocation(address: int, kind: int, size: int, last: int) -> bytes:
        short = kind < 8
        flags = bytes([0x80 | 15 << 3 | (kind if short else 0)]) + (b"" if short else bytes([kind]))
        return flags[:1] + signed((address >> 3) - (last >> 3)) + flags[1:] + native_id + varint(size)

    body = [
        bytes([12]) + (99).to_bytes(8, "little"), bytes([10]) + b"MainThread\0",
        code(5, b"main", 10), code(6, b"leaf", 20),
        bytes([0x41]) + varint(5) + signed(4), bytes([0x40]) + varint(6) + signed(0),
        allocation(0x1000, 6, 100, 0), bytes([0x10]),
        bytes([2]) + varint(4096) + varint(10), allocation(0x2000, 8, 30, 0x1000),
        bytes([0x80 | 1 << 3 | 5]),  # free of the address before the last
        allocation(0x10000, 14, 8192, 0x2000), bytes([2]) + varint(8192) + varint(20),
        allocation(0x11000, 15, 4096, 0x10000), bytes([0x20 | 0 << 1 | 0]), bytes([1]),
    ]  # fmt: skip
    return head + b"".join(body)


def _lz4_stored(content: bytes) -> bytes:
    """A frame with one block that isn't packed, and the checksums that the reader passes over."""
    return b"\x04\x22\x4d\x18\x40\x40\xc0" + (len(content) | 1 << 31).to_bytes(4, "little") + content + bytes(4)


MEMRAY = _memray(native=False)
MEMRAY_NATIVE = _lz4_stored(_memray(native=True))
_STRINGS = [
    "",
    "alloc_objects",
    "count",
    "alloc_space",
    "bytes",
    "inuse_objects",
    "inuse_space",
    "/bin/app",
    "leaf",
    "caller",
    "main",
    "app.c",
]
PPROF = gzip.compress(
    b"".join(data(1, number(1, kind) + number(2, unit)) for kind, unit in ((1, 2), (3, 4), (5, 2), (6, 4)))
    + data(2, packed(1, [1, 2]) + packed(2, [10, 1000, 3, 300]))
    + data(2, packed(1, [2]) + packed(2, [7, 70, 0, 0]))
    + data(3, number(1, 1) + number(2, 0x400000) + number(3, 0x500000) + number(5, 7))
    + _location(1, 0x401000, (1, 12), (2, 22))
    + _location(2, 0x402000, (3, 30))
    + _function(1, 8, 11)
    + _function(2, 9, 11)
    + _function(3, 10, 11)
    + b"".join(data(6, text.encode()) for text in _STRINGS),
    mtime=0,
)

ALL = {
    "heaptrack": HEAPTRACK,
    "raw": RAW,
    "dhat": DHAT,
    "massif": MASSIF,
    "jemalloc": JEMALLOC,
    "tcmalloc": TCMALLOC,
    "ltrace": LTRACE,
    "pprof": PPROF,
    "memray": MEMRAY,
    "memray-lz4": MEMRAY_NATIVE,
}
