"""The limits of `--budget`: `cpu=0.5%,memory=16M,disk=1M`."""

from __future__ import annotations

import re

from tare.errors import USAGE, TareError
from tare.text.sizes import parse_bytes

_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", re.ASCII)
_LEAST = {"memory": 1 << 20, "disk": 256 << 10}


def parsed(text: str, verb: str = "watch") -> str:
    """In the words of a watched process's recorder; empty: no budget."""
    return ",".join(f"{name}={value}" for name, value in _found(text, verb).items())


def limits(text: str, verb: str) -> tuple[float, int, int]:
    """Share of the CPU time, bytes of memory, bytes on disk; 0: no such limit."""
    found = _found(text, verb)
    return float(found.get("cpu", "0%")[:-1]) / 100, int(found.get("memory", "0")), int(found.get("disk", "0"))


def _found(text: str, verb: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(",") if text else []:
        name, _, value = part.partition("=")
        if name in found:
            raise TareError(USAGE, f"{verb}: --budget has two limits {name}: '{text}'")
        if name == "cpu":
            found[name] = _share(value, verb)
        elif name in _LEAST:
            found[name] = _bytes(name, value, verb)
        else:
            raise TareError(USAGE, f"{verb}: --budget needs limits such as cpu=0.5%,memory=16M,disk=1M: '{text}'")
    return found


def _share(value: str, verb: str) -> str:
    match = _SHARE.fullmatch(value)
    if match is None or not 0 < float(match[1]) <= 100:
        raise TareError(USAGE, f"{verb}: --budget cpu needs a share of the program's CPU time, such as 0.5%: '{value}'")
    return value


def _bytes(name: str, value: str, verb: str) -> str:
    size = parse_bytes(value, f"--budget {name}")
    if size < _LEAST[name]:
        raise TareError(USAGE, f"{verb}: --budget {name} needs at least {_LEAST[name] >> 10}K: '{value}'")
    return str(min(size, (1 << 40) - 1))
