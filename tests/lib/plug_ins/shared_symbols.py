"""Checks that plug-ins with two versions of the library share no symbol of it: shared_symbols.py A.so B.so NEWER.so.

A and B have the same version and do share some. The dynamic linker takes one definition for all in a process: functions,
weak symbols of inline code, and unique ones of its variables.
"""

import re
import subprocess
import sys


def library_symbols(path: str) -> set[str]:
    """Defined C++ symbols that others see and that name something of the library, mangled."""
    listed = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True)
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    return {name for name in names if re.search(r"^_Z.*4tare", name)}


def main() -> int:
    one, same, newer = (library_symbols(path) for path in sys.argv[1:])
    if not one & same:
        print("plug-ins of one version share no symbol: this test has looked at nothing")
        return 1
    for name in sorted(one & newer):
        print(f"in plug-ins of both versions: {name}")
    return 1 if one & newer else 0


if __name__ == "__main__":
    sys.exit(main())
