"""Keeps blocks of twenty kinds, each made on a line of its own; with `tracemalloc` prints what that module saw of them."""

import array
import asyncio
import collections
import json
import os
import sys
import threading
import zlib

KEPT = []
WATCHED = len(sys.argv) > 1 and sys.argv[1] == "tracemalloc"


class Node:
    def __init__(self, value):
        self.value = [value] * 500  # site 1


def closure():
    data = bytes(70_000)  # site 2
    return lambda: data


def numbers(count):
    for i in range(count):
        yield bytearray(1_000 + i)  # site 3


def recursive(depth):
    if depth == 0:
        KEPT.append(b"x" * 90_001)  # site 4
    else:
        recursive(depth - 1)


def failing():
    try:
        raise ValueError
    except ValueError:
        KEPT.append([None] * 7_001)  # site 5


def sort_key(value):
    KEPT.append(bytearray(30_000 + value))  # site 6
    return -value


async def waiting():
    await asyncio.sleep(0)
    KEPT.append(bytearray(60_003))  # site 7


async def several():
    await asyncio.gather(*(waiting() for _ in range(5)))


class Thread(threading.Thread):
    def run(self):
        KEPT.append(bytearray(80_007))  # site 8


class Manager:
    def __enter__(self):
        self.data = bytearray(40_009)  # site 9
        return self

    def __exit__(self, *_):
        KEPT.append(bytearray(41_011))  # site 10

    def __getattr__(self, name):
        KEPT.append(bytearray(42_013))  # site 11
        return name

    def __hash__(self):
        KEPT.append(bytearray(43_015))  # site 12
        return 1


def main():
    KEPT.append([0] * 10_001)  # site 13
    KEPT.append({i: i for i in range(5_000)})  # site 14
    KEPT.append(set(range(3_000)))  # site 15
    KEPT.append("-".join(["word"] * 20_000))  # site 16
    KEPT.append(array.array("d", bytes(80_008)))  # site 17
    KEPT.append(json.dumps("a" * 50_000))
    KEPT.append(collections.deque(range(10_000)))  # site 18
    KEPT.append(zlib.compress(os.urandom(100_000)))  # site 19
    KEPT.append(chr(233) * 100_000)  # site 20
    KEPT.append([Node(i) for i in range(100)])
    KEPT.append(closure())
    KEPT.append(list(numbers(30)))
    recursive(200)
    failing()
    KEPT.append(sorted(range(100), key=sort_key))
    asyncio.run(several())
    for thread in [Thread() for _ in range(4)]:
        thread.start()
        thread.join()
    with Manager() as manager:
        KEPT.append(manager)
    manager.anything  # noqa: B018
    KEPT.append({manager: 1})


if WATCHED:
    import tracemalloc

    tracemalloc.start(1)
main()
if WATCHED:
    snapshot = tracemalloc.take_snapshot()
    found = {}
    for statistic in snapshot.statistics("lineno"):
        frame = statistic.traceback[0]
        if frame.filename == __file__:
            found[frame.lineno] = statistic.size
    print(json.dumps(found))
    sys.stdout.flush()
os._exit(0)
