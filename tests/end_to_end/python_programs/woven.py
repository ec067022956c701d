"""Allocates through a native function that calls back, at the end of a recursion, in a generator, a thread and a child."""

import os
import threading

KEPT = []


def sort_key(value):
    KEPT.append(bytearray(100_000 + value))
    return -value


def recursive(depth):
    if depth == 0:
        KEPT.append(bytearray(90_000))
    else:
        recursive(depth - 1)


def numbers():
    yield bytearray(80_000)


def in_thread():
    KEPT.append(bytearray(70_000))


def in_child():
    KEPT.append(bytearray(60_000))


def main():
    KEPT.append(sorted(range(3), key=sort_key))
    recursive(200)
    for number in numbers():
        KEPT.append(number)
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    if os.fork() == 0:
        in_child()
        os._exit(0)
    os.wait()


main()
os._exit(0)
