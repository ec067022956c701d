"""Counts the instructions that linear-work takes by size of input: linear_test.py PROGRAM LARGEST_BYTES [CASE...].

What is linear has a slope of 1 between the logarithms of size and instructions. More than 1.1 over the range fails.
"""

import math
import re
import subprocess
import sys

SMALLEST_BYTES = 4096
STEEPEST_SLOPE = 1.1


def instructions(program: str, case: str, size: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, case, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return int(collected[1])


def main() -> int:
    program, largest = sys.argv[1], int(sys.argv[2])
    names = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    failed = False
    for case in sys.argv[3:] or names:
        start = instructions(program, case, 0)  # of the program itself
        sizes = [SMALLEST_BYTES]
        while sizes[-1] * 64 <= largest:
            sizes.append(sizes[-1] * 64)
        counts = [max(1, instructions(program, case, size) - start) for size in sizes]
        slopes = [
            math.log(counts[i + 1] / counts[i]) / math.log(sizes[i + 1] / sizes[i]) for i in range(len(sizes) - 1)
        ]
        steepest = max(slopes)
        curve = ", ".join(f"{size}: {count}" for size, count in zip(sizes, counts, strict=True))
        print(f"{case}: slope {steepest:.3f} ({curve})", flush=True)
        failed = failed or steepest > STEEPEST_SLOPE
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
