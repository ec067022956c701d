"""Makes a single-file copy of a part of the library: single_file.py PART > tare_PART.h, for text and arena.

    #define TARE_IMPLEMENTATION      // in one source file of the program
    #include "tare_text.h"

Headers and sources in one, each once; it needs C++20, Linux, and nothing else. A program has either such copies or the library.
Two copies in one program share their common part, if one file has both and defines the macro once.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARTS = {
    "text": (
        ["tare/text_stream.h", "tare/text_ostream.h"],
        ["text/text_writer.cc", "text/text_format.cc", "text/decimals.cc", "bytes/bytes.cc", "bytes/shared_header.cc"],
    ),
    "arena": (
        ["tare/arena.h", "tare/arena_resource.h"],
        ["arena/arena.cc", "arena/pool_log.cc", "cage/system_pages_linux.cc"],
    ),
}
COMMON_SOURCES = ["buffers/good_size.cc"]
OWN_INCLUDE = re.compile(r'^#include ["<]((?:tare|lib)/[^">]+)[">]')


class Amalgam:
    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.out: list[str] = []

    def add(self, path: Path, name: str) -> None:
        if name in self.seen:
            return
        self.seen.add(name)
        if path.suffix == ".h":
            self.out += begin_once(name)
        for line in path.read_text().splitlines():
            if match := OWN_INCLUDE.match(line):
                self.add(find(match[1]), match[1])
            elif line != "#pragma once":
                self.out.append(line)
        if path.suffix == ".h":
            self.out.append("#endif")


def begin_once(name: str) -> list[str]:
    """Over all copies, for a program may have more than one."""
    macro = "TARE_SINGLE_" + re.sub(r"\W", "_", name).upper()
    return [f"// ---- {name}", f"#ifndef {macro}", f"#define {macro}"]


def find(name: str) -> Path:
    folder = ROOT / ("include" if name.startswith("tare/") else "src")
    return folder / name


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        print(f"single_file.py: say which part: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    headers, sources = PARTS[sys.argv[1]]
    amalgam = Amalgam()
    for name in headers:
        amalgam.add(find(name), name)
    amalgam.out.append("#ifdef TARE_IMPLEMENTATION")
    for name in [*sources, *COMMON_SOURCES]:
        amalgam.out += begin_once(name)
        amalgam.add(ROOT / "src" / "lib" / name, name)
        amalgam.out.append("#endif")
    amalgam.out.append("#endif  // TARE_IMPLEMENTATION")
    duty = (
        f"// Tare's {sys.argv[1]} in one file, made by tools/single_file.py: define TARE_IMPLEMENTATION in one source."
    )
    print(duty, "// SPDX-License-Identifier: Apache-2.0", "#pragma once", *amalgam.out, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
