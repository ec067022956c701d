#!/usr/bin/env python3
"""Every stack that the recorder's unwinder captures on whole runs of real programs, compared with libunwind's.

    check_real.py BUILD_DIR [CASE...]

BUILD_DIR: a CMake build with tests (targets tare-unwind-check, tare-unwind-torture and tare-unwind-stress). Prints one
line a process image; ends with status 1 if any stack differs, if nothing was compared, or if a program doesn't end in
KILLED_AFTER_S seconds.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KILLED_AFTER_S = 600  # a compiler's -O2 takes a minute where the machine is busy

HEAVY_CPP = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <ranges>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
int main() {
  std::regex pattern("a(b|c)*d");
  std::map<std::string, std::vector<int>> lists;
  lists["a"].push_back(std::regex_match("abd", pattern));
  auto view = lists | std::views::values | std::views::join | std::views::transform([](int x) { return x * 2; });
  for (int x : view) std::cout << x;
  std::variant<int, double, std::string> any{1};
  std::visit([](auto&& value) { std::cout << value; }, any);
  std::unordered_map<std::string, std::function<int(int)>> functions;
  functions["x"] = [](int i) { return i; };
  std::cout << functions["x"](3);
}
"""

JOB_PY = """
import json, re, sqlite3, threading
records = [{"id": i, "name": "n%d" % i, "tags": ["abc"[i % 3] * (j + i % 7) for j in range(5)], "v": {"x": i * 1.5}}
           for i in range(10000)]
for _ in range(2):
    text = json.dumps(records)
    records = json.loads(text)
groups = {}
for record in records:
    groups.setdefault(record["tags"][1], []).append(record)
db = sqlite3.connect(":memory:")
db.execute("create table t(a, b)")
db.executemany("insert into t values(?, ?)", ((r["id"], r["name"]) for r in records))
thread = threading.Thread(target=lambda: sorted(re.findall(r"n(\\d+)", text)))
thread.start()
thread.join()
"""

SQL = """
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 200000)
  insert into t select x, hex(randomblob(16)) from c;
create index i on t(b);
select count(*), length(group_concat(b)) from t;
"""


def cases(build: Path, folder: Path) -> dict[str, list[str]]:
    programs = build / "tests/recorder/unwind/torture"
    (folder / "heavy.cpp").write_text(HEAVY_CPP)
    (folder / "job.py").write_text(JOB_PY)
    found = {
        "cc1plus": ["g++", "-std=c++20", "-fsyntax-only", str(folder / "heavy.cpp")],
        "cc1plus-O2": ["g++", "-std=c++20", "-O2", "-S", "-o", os.devnull, str(folder / "heavy.cpp")],
        "python": ["/usr/bin/python3.11", str(folder / "job.py")],
        "git": ["git", "-C", str(Path(__file__).parent), "log", "--stat", "-n", "300"],
        "sqlite": ["sqlite3", ":memory:", SQL],
        "stress": [str(programs / "tare-unwind-stress")],
        "torture": [str(programs / "tare-unwind-torture"), str(programs)],
    }
    return {name: command for name, command in found.items() if shutil.which(command[0])}


def check(library: Path, command: list[str]) -> list[str]:
    """The result lines of all images that the command ran."""
    with tempfile.NamedTemporaryFile("r", prefix="tare-check-") as out:
        environment = dict(
            os.environ, LD_PRELOAD=str(library), TARE_CHECK_OUT=out.name, PYTHONMALLOC="malloc", GIT_PAGER="cat"
        )
        try:
            status = subprocess.run(
                command, env=environment, stdout=subprocess.DEVNULL, timeout=KILLED_AFTER_S
            ).returncode
            ended = f"ended with status {status}" if status != 0 else ""
        except subprocess.TimeoutExpired:
            ended = f"didn't end within {KILLED_AFTER_S} s"
        lines = out.read().splitlines()
        return [*lines, f"{command[0]}: {ended}"] if ended else lines


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    library = build / "tests/recorder/unwind/tare-unwind-check.so"
    if not library.exists():
        print(
            f"{library} is missing: configure with -DTARE_BUILD_TESTS=ON, where libunwind is installed, and build "
            "tare-unwind-check",
            file=sys.stderr,
        )
        return 2
    failed = False
    with tempfile.TemporaryDirectory(prefix="tare-check-") as folder:
        available = cases(build, Path(folder))
        for name in sys.argv[2:] or available:
            lines = check(library, available[name])
            compared = 0
            for line in lines:
                numbers = re.search(r": (\d+) stacks, (\d+) equal", line)
                if numbers is None or numbers[1] != numbers[2]:
                    failed = True
                compared += int(numbers[1]) if numbers else 0
                if numbers is None or int(numbers[1]) > 0:
                    print(f"{name:12} {line}", flush=True)
            failed = failed or compared == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
