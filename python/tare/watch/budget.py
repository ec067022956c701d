"""The limits of `tare watch --budget`, as text for the recorder: `cpu=0.5%,memory=16M,disk=1M`."""

from __future__ import annotations

import re

from tare.errors import USAGE, TareError
from tare.text.sizes import parse_bytes

DEFAULT = "cpu=0.5%"
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", re.ASCII)
_LEAST = {"memory": 1 << 20, "disk": 256 << 10}


def parsed(text: str) -> str:
    """In the recorder's words; empty: no budget."""
    found: dict[str, str] = {}
    for part in text.split(",") if text else []:
        name, _, value = part.partition("=")
        if name in found:
            raise TareError(USAGE, f"watch: --budget has two limits {name}: '{text}'")
        if name == "cpu":
            found[name] = _share(value)
        elif name in _LEAST:
            found[name] = _bytes(name, value)
        else:
            raise TareError(USAGE, f"watch: --budget needs limits such as cpu=0.5%,memory=16M,disk=1M: '{text}'")
    return ",".join(f"{name}={value}" for name, value in found.items())


def _share(value: str) -> str:
    match = _SHARE.fullmatch(value)
    if match is None or not 0 < float(match[1]) <= 100:
        raise TareError(USAGE, f"watch: --budget cpu needs a share of the program's CPU time, such as 0.5%: '{value}'")
    return value


def _bytes(name: str, value: str) -> str:
    size = parse_bytes(value, f"--budget {name}")
    if size < _LEAST[name]:
        raise TareError(USAGE, f"watch: --budget {name} needs at least {_LEAST[name] >> 10}K: '{value}'")
    return str(min(size, (1 << 40) - 1))
