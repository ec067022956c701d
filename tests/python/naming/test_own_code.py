"""Own code: of the program and libraries outside of the system, and of scripts outside of installed packages."""

from __future__ import annotations

import pytest
from tare.naming.own_code import is_own


@pytest.mark.parametrize(
    ("module", "file", "function", "own"),
    [
        ("/usr/bin/app", "/src/a.c", "f", True),
        ("/opt/lib/libx.so", "", "f", True),
        ("/usr/lib/libc.so.6", "malloc.c", "f", False),
        ("/usr/bin/app", "/usr/include/c++/12/bits/vector.h", "f", False),
        ("[python]", "/srv/app.py", "f", True),
        ("[python]", "/usr/lib/python3.11/json/decoder.py", "f", False),
        ("", "/srv/app.js", "f", True),
        ("", "/srv/node_modules/x/index.js", "f", False),
        ("", "node:fs", "f", False),
        ("", "", "void app.Store.add(int)", True),
        ("", "", "void java.util.HashMap.resize()", False),
        ("", "", "", False),
    ],
)
def test_own(module: str, file: str, function: str, own: bool) -> None:
    assert is_own("/usr/bin/app", module, file, function) is own
