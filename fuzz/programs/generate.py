"""Random scripts for dangerous.cc, and shorter scripts that keep what a long one showed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

# Operations without a block, with how often each is drawn; those that need a whole process are rare.
SIMPLE = {
    "a": 20,  # allocate by one of six functions
    "r": 6,  # realloc
    "f": 10,  # free
    "x": 1,  # requests that no allocator can serve
    "m": 4,  # mmap, mprotect, mremap, munmap
    "g": 2,  # free much, then malloc_trim
    "c": 1,  # cancel a thread
    "s": 2,  # posix_spawn, vfork and exec, system
    "v": 1,  # a fault that the program handles
    "i": 1,  # SIGPROF each millisecond
    "w": 2,  # throw and catch
    "l": 3,  # dlopen, also of what isn't there
    "b": 1,  # a seccomp filter
    "z": 2,  # descriptors, environment, masks
    "n": 2,  # limits
    "P": 1,  # prctl
    "U": 1,  # faults that a thread of the program serves
    "I": 1,  # a ring of requests to the kernel
}
# Operations that perform a block in another place: threads, children, handlers, stacks.
NESTED = {"p": 3, "t": 4, "k": 4, "q": 2, "e": 2, "y": 1, "h": 4, "j": 2, "o": 4, "u": 2, "d": 3}
MAX_DEPTH = 4


def script(seed: int) -> str:
    """The script of a seed: the same text for the same seed forever."""
    chance = random.Random(seed)
    text = _block(chance, chance.randint(4, 30), 0)
    end = chance.random()
    return text + ("A" if end < 0.05 else f"X{chance.randrange(100)}" if end < 0.15 else "")


def _block(chance: random.Random, length: int, depth: int) -> str:
    drawn = {**SIMPLE, **(NESTED if depth < MAX_DEPTH else {})}
    parts = []
    for letter in chance.choices(list(drawn), weights=list(drawn.values()), k=length):
        inner = f"({_block(chance, chance.randint(1, 6), depth + 1)})" if letter in NESTED else ""
        parts.append(f"{letter}{chance.randrange(1000)}{inner}")
    return "".join(parts)


def operations(text: str) -> list[str]:
    """The operations of a script or block, each with its block."""
    found = []
    at = 0
    while at < len(text):
        head = re.compile(r"[a-zA-Z]\d*").match(text, at)
        if head is None:
            raise ValueError(f"not a script at character {at}: {text}")
        end = head.end()
        if end < len(text) and text[end] == "(":
            depth = 0
            while True:
                depth += (text[end] == "(") - (text[end] == ")")
                end += 1
                if depth == 0:
                    break
        found.append(text[at:end])
        at = end
    return found


def _shorter(text: str) -> Iterator[str]:
    """Scripts with something left out, the shortest first."""
    parts = operations(text)
    size = len(parts)
    while size >= 1:
        for at in range(0, len(parts), size):
            yield "".join(parts[:at] + parts[at + size :])
        size //= 2
    for index, part in enumerate(parts):
        if "(" not in part:
            continue
        head, inner = part[: part.index("(")], part[part.index("(") + 1 : -1]
        yield "".join([*parts[:index], inner, *parts[index + 1 :]])
        for less in _shorter(inner):
            yield "".join([*parts[:index], f"{head}({less})", *parts[index + 1 :]])


def reduced(text: str, still_fails: Callable[[str], bool]) -> str:
    """A script from which nothing can be left out without losing the failure."""
    while True:
        for candidate in _shorter(text):
            if candidate and candidate != text and still_fails(candidate):
                text = candidate
                break
        else:
            return text
