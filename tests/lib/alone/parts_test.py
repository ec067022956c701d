"""The library's parts stand alone: parts_test.py FOLDER_OF_OBJECTS.

core refers to neither variant nor gc, and these not to each other.
"""

import subprocess
import sys
from pathlib import Path

PARTS = {"variant": "variant", "gc": "gc"}  # by folder; all others are core
ALLOWED = {"core": {"core"}, "variant": {"core", "variant"}, "gc": {"core", "gc"}}


def part_of(path: Path) -> str:
    """Of an object, or of several sources in one: Unity/unity_GROUP_cxx.cxx.o, where a group begins with its part."""
    folder = path.name.split("_")[1] if path.parts[0] == "Unity" else path.parts[0]
    return PARTS.get(folder, "core")


def symbols(objects: list[Path], kind: str) -> set[str]:
    command = ["nm", "--format=posix", kind, *map(str, objects)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0] for line in lines if len(line.split()) > 1}


def main() -> int:
    folder = Path(sys.argv[1])
    objects: dict[str, list[Path]] = {"core": [], "variant": [], "gc": []}
    for path in sorted(folder.rglob("*.o")):
        objects[part_of(path.relative_to(folder))].append(path)
    if not all(objects.values()):
        sys.exit(f"{folder} lacks the objects of a part")
    defined = {part: symbols(paths, "--defined-only") for part, paths in objects.items()}
    wanted = {part: symbols(paths, "--undefined-only") for part, paths in objects.items()}
    if not wanted["gc"] & defined["core"] or not wanted["variant"] & defined["core"]:
        sys.exit("nothing refers to core: the symbols weren't read")
    failed = False
    for part, allowed in ALLOWED.items():
        own = set().union(*(defined[other] for other in allowed))
        for other in ALLOWED.keys() - allowed:
            for name in sorted((wanted[part] & defined[other]) - own):
                print(f"{part} refers to {name} of {other}", file=sys.stderr)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
