"""The map in src/README.md and python/tare/README.md: no include or import beside its arrows, no arrow without one, no circle."""

import ast
import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
Arrows = set[tuple[str, str]]
MOST_FILES = 30
MOST_LINES = 450
ENDINGS = {".h", ".cc", ".c", ".def", ".py", ".pyi", ".md", ".txt"}
SOURCES = ENDINGS - {".md", ".txt"}
SPLIT = ("trace", "core", "allocator_replay")  # folders whose sub-folders are in the map
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)


def folder_of(path: Path, root: Path) -> str:
    """`recorder`, `trace/file`, `core/analysis`, ... of src; `include` for all public headers."""
    parts = path.relative_to(root).parts
    if parts[0] == "include":
        return "include"
    return "/".join(parts[1:3]) if parts[1] in SPLIT and len(parts) > 3 else parts[1]


def includes(root: Path) -> Arrows:
    arrows = set()
    for path in (
        each
        for top in ("src", "include")
        for ending in ("h", "cc", "c", "def")
        for each in (root / top).rglob(f"*.{ending}")
    ):
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            places = (root / "src" / name, root / "include" / name, path.parent / name)
            found = next((place for place in places if place.exists()), None)
            if found is not None and folder_of(path, root) != folder_of(found.resolve(), root):
                arrows.add((folder_of(path, root), folder_of(found.resolve(), root)))
    return arrows


def package_of(module: str, root: Path) -> str:
    first = module.split(".")[1:2]
    return first[0] if first and (root / "python/tare" / first[0]).is_dir() else "."


def imports(root: Path) -> tuple[Arrows, set[str]]:
    """Arrows between packages, and the modules of the root that import commands."""
    arrows, callers = set[tuple[str, str]](), set[str]()
    for path in (root / "python/tare").rglob("*.py"):
        own = path.relative_to(root / "python").with_suffix("").parts
        here = own[1] if len(own) > 2 else "."
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names = (
                    [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "tare" else [node.module]
                )
            for there in (package_of(name, root) for name in names if name.split(".")[0] == "tare"):
                if there != here:
                    arrows.add((here, there))
                if (here, there) == (".", "commands"):
                    callers.add(path.name)
    return arrows, callers


def listed(page: str, heading: str) -> Arrows:
    """Arrows of the table below `heading`: its first column includes what its last one names."""
    table = page.split(heading, 1)[1].split("\n\n", 1)[0]
    arrows = set()
    for row in re.findall(r"^\| (`[^|]*)\|(.*)\|$", table, re.MULTILINE):
        (here,) = re.findall(r"^`([^`]+?)/?`", row[0])
        targets = re.findall(r"`([^`]+?)/?`", row[1].rsplit("|", 1)[-1])
        arrows |= {(here, there) for there in targets}
    return arrows


def spread(arrows: Arrows, found: Arrows) -> Arrows:
    """`arrows` with "all of `core/`" replaced by those of its folders that `found` has."""
    tops = {there for _, there in arrows if there in SPLIT}
    kept = {(here, there) for here, there in arrows if there not in tops}
    return kept | {
        (here, folder)
        for here, top in arrows
        if top in tops
        for who, folder in found
        if who == here and folder.startswith(f"{top}/")
    }


def circle(arrows: Arrows) -> list[str]:
    """Folders that are left when those without arrows are taken away again and again."""
    left = set(arrows)
    while True:
        ends = {there for _, there in left} - {here for here, _ in left}
        if not ends:
            return sorted({here for here, _ in left})
        left = {(here, there) for here, there in left if there not in ends}


def test_includes_follow_the_map() -> None:
    page = (REPO / "src/README.md").read_text(encoding="utf-8")
    found = includes(REPO)
    assert found == spread(listed(page, "| folder | contents | includes |"), found)
    assert circle(found) == []
    tops = {path for path in (REPO / "src").iterdir() if path.is_dir()}
    folders = {path.name for path in tops if path.name not in SPLIT}
    folders |= {
        f"{top.name}/{path.name}" for top in tops if top.name in SPLIT for path in top.iterdir() if path.is_dir()
    }
    assert folders <= set(re.findall(r"^\| `([^`]+)/`", page, re.MULTILINE))


def test_imports_follow_the_map() -> None:
    page = (REPO / "python/tare/README.md").read_text(encoding="utf-8")
    arrows, callers = imports(REPO)
    assert arrows == listed(page, "| package | imports |")
    assert callers == {"cli.py"}
    assert circle({(here, there) for here, there in arrows if "." not in (here, there)}) == []


def test_an_arrow_against_the_map_is_found(tmp_path: Path) -> None:
    for name, text in {
        "src/trace/model/event.h": '#include "core/tables/replay.h"\n',
        "src/core/tables/replay.h": '  #  include "trace/model/event.h"\n#include <vector>\n',
        "include/tare/atom.h": "",
        "src/lib/atom.cc": '#include "tare/atom.h"\n',
        "python/tare/lenses/slop.py": "from tare.commands import run\nimport tare.units\n",
        "python/tare/commands/run.py": "def f():\n    from tare import lenses\n",
        "python/tare/units.py": "from tare.commands.run import f\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert includes(tmp_path) == {("trace/model", "core/tables"), ("core/tables", "trace/model"), ("lib", "include")}
    assert circle(includes(tmp_path)) == ["core/tables", "trace/model"]
    arrows, callers = imports(tmp_path)
    assert arrows == {("lenses", "commands"), ("lenses", "."), ("commands", "lenses"), (".", "commands")}
    assert callers == {"units.py"}


def test_no_folder_is_crowded() -> None:
    crowded = {}
    for top in ("src", "include", "python"):
        for folder in [REPO / top, *(path for path in (REPO / top).rglob("*") if path.is_dir())]:
            files = [path for path in folder.iterdir() if path.is_file() and path.suffix in ENDINGS]
            if len(files) > MOST_FILES:
                crowded[str(folder.relative_to(REPO))] = len(files)
    assert crowded == {}


def test_no_file_is_long() -> None:
    tops = ("src", "include", "python", "tests", "fuzz", "bench", "tools", "guide", "examples", "demo")
    files = [path for top in tops for path in (REPO / top).rglob("*") if path.is_file() and path.suffix in SOURCES]
    lines = {str(path.relative_to(REPO)): path.read_text(encoding="utf-8").count("\n") for path in files}
    assert {name: count for name, count in lines.items() if count >= MOST_LINES} == {}
