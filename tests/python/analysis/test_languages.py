"""The language of a site, from frames as real recordings have them."""

from __future__ import annotations

import pytest
from tare.analysis.languages import language_of
from tare.naming.names import UNKNOWN, Frame


def frame(function: str, mangled: str = "", file: str = "", module: str = "/opt/app") -> Frame:
    return Frame(function, mangled or function, file, 1 if file else None, module, 16)


@pytest.mark.parametrize(
    ("named", "language"),
    [
        (frame("add", file="/src/words.c"), "C"),
        (frame("jv_string_sized", module="/lib/libjq.so.1"), "C"),
        (frame("elf_next", file="/src/elf.h"), "C"),
        (frame("Table::grow()", "_ZN5Table4growEv"), "C++"),
        (frame("std::vector<int>::push_back(int)", file="/usr/include/c++/12/bits/stl_vector.h"), "C++"),
        (frame("tare_main", file="/src/plugin.cc"), "C++"),
        (frame("main::half", "_ZN4main4half17h6ceadc2c33057cd6E", "/src/main.rs"), "Rust"),
        (frame("main::half", "_ZN4main4half17h6ceadc2c33057cd6E"), "Rust"),
        (frame("std::rt::init", "_RNvNtCsjrHSEGnQ3l9_3std2rt4init"), "Rust"),
        (frame("main.keep", file="/src/main.go"), "Go"),
        (frame("_cgo_98d6ac660cc0_Cfunc__Cmalloc", file="/tmp/go-build/_cgo_export.c"), "Go"),
        (frame("load", file="/srv/events.py", module="[python]"), "Python"),
        (frame("<module>", file="<frozen importlib>", module="[python]"), "Python"),
        (frame("keep", file="/srv/app.js", module=""), "JavaScript"),
        (frame("Module._compile", file="node:internal/modules/cjs/loader", module=""), "JavaScript"),
        (frame("long java.util.zip.Deflater.init(int, int, boolean)", module=""), "Java"),
        (frame("int Strings::join(char[])", module=""), "Java"),
        (frame("keep_one", module=""), "unknown"),
        (frame("main"), "unknown"),  # C and C++ write it alike
        (frame("main", file="/src/main.cpp"), "C++"),
        (frame("solve_", file="/src/solve.f90"), "unknown"),
        (Frame("", "", "", None, "/usr/bin/jq", 16), "unknown"),
        (UNKNOWN, "unknown"),
    ],
)
def test_language_of(named: Frame, language: str) -> None:
    assert language_of(named) == language
