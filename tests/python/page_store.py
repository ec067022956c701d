"""Reads the store of a page by code of the tests' own."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any


def numbers_of(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def decoded_header(text: str) -> dict[str, Any]:
    """Of the store in a page."""
    found = re.search(r'id="store">(.*?)</script>', text)
    assert found
    data = zlib.decompress(base64.b85decode(found[1].replace(",", "<")))
    begin = next(at for at, byte in enumerate(data) if byte < 128) + 1
    header: dict[str, Any] = json.loads(data[begin : begin + next(numbers_of(data))])
    return header
