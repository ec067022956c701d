"""Holds each model of tare/size_classes.h against the allocator that is installed: check_size_models.py MODEL_SIZES [STEP].

Prints the allocator's version and the number of differing sizes up to 1 MiB; above 160 KiB every STEP-th is tested. Fails where
more differ than are known to.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Model, library or None for the C library, Debian's package, sizes that are known to differ.
ALLOCATORS = [
    ("glibc", None, "libc6", 0),
    ("jemalloc", "libjemalloc.so.2", "libjemalloc2", 0),
    ("mimalloc2", "libmimalloc.so.2.0", "libmimalloc2.0", 0),
    ("gperftools", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4", 0),
]


def version_of(package: str) -> str:
    command = ["dpkg-query", "-W", "-f", "${Version}", package]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout or "of unknown version"
    except FileNotFoundError:
        return "of unknown version"


def main() -> int:
    program = sys.argv[1]
    step = sys.argv[2] if len(sys.argv) > 2 else "1"
    failed = False
    for model, library, package, known in ALLOCATORS:
        path = LIBRARIES / library if library else None
        if path is not None and not path.exists():
            print(f"{model}: {package} isn't installed")
            continue
        # One mmap threshold, so that freeing a mapping doesn't raise it. No room at the end of the heap: glibc gives it to
        # blocks that it would map without, and how much there is depends on what the C++ library allocated at its start.
        settings = {"MALLOC_MMAP_THRESHOLD_": str(128 * 1024), "MALLOC_TOP_PAD_": "0"}
        environment = {**os.environ, **settings}
        if path is not None:
            environment["LD_PRELOAD"] = str(path)
        done = subprocess.run([program, model, step], capture_output=True, text=True, check=False, env=environment)
        match = re.fullmatch(r"(\d+) (\d+) (\d+) (\d+)\n", done.stdout)
        if match is None:
            sys.exit(f"{program} {model} ended with {done.returncode}: {done.stdout}{done.stderr}")
        different, first, usable, modelled = map(int, match.groups())
        text = f"{model}: {package} {version_of(package)}, {different} sizes to 1 MiB differ"
        if different:
            text += f", first {first}: {usable} usable, {modelled} by the model"
        print(text)
        failed = failed or different > known
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
