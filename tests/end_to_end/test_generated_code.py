"""Code that a program generates: names from the map that JIT compilers write for perf, and sites named by JavaScript's lines."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Tare

SITES = (
    "select f.function, f.file, f.line, sum(s.end_blocks) as blocks, count(distinct stack_sites.site_id) as sites"
    " from site_sizes s join stack_sites using (stack_id) join sites on sites.site_id = stack_sites.site_id"
    " join frames f on f.location_id = sites.site_location_id where s.requested_bytes = 1000 group by all order by blocks desc"
)


@pytest.fixture
def maps() -> Iterator[list[Path]]:
    """Maps to be deleted."""
    written: list[Path] = []
    yield written
    for path in written:
        path.unlink(missing_ok=True)


def record(tare: Tare, maps: list[Path], executable: Path, *names: str) -> Path:
    done = tare("run", "-q", "-o", "t.tare", "--", executable, *names)
    assert done.returncode == 0, done.stderr
    maps.append(Path(done.stdout.strip()))
    return tare.folder / "t.tare"


def folded(tare: Tare, trace: Path) -> str:
    done = tare("report", trace, "--folded", "--at", "end")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_generated_code_has_the_names_of_the_map(tare: Tare, program: Callable[..., Path], maps: list[Path]) -> None:
    trace = record(
        tare,
        maps,
        program("generated_code.c"),
        "FIRST replaced",
        "FIRST int Strings::join(char[])",
        "SECOND JS:*build /srv/app.js:12:9",
    )
    stacks = folded(tare, trace)
    assert ";main;int Strings::join(char[]);keep_one" in stacks
    assert ";main;build;keep_one" in stacks
    assert "replaced" not in stacks
    assert "unknown" not in stacks


def test_without_a_map_of_its_own_code_has_no_name(tare: Tare, program: Callable[..., Path], maps: list[Path]) -> None:
    trace = record(tare, maps, program("generated_code.c"), "SECOND elsewhere")
    assert ";main;(unknown);keep_one" in folded(tare, trace)
    shown = tare("report", trace)
    assert "/tmp/perf-PID.map" in shown.stdout + shown.stderr


def test_javascript_names_sites_by_its_own_line(
    tare: Tare, program: Callable[..., Path], maps: list[Path], tmp_path: Path
) -> None:
    node = tmp_path / "node"  # what identifies V8 is the name of the program
    shutil.copy(program("generated_code.c"), node)
    trace = record(tare, maps, node, "FIRST JS:*build /srv/app.js:12:9", "SECOND JS:^build /srv/app.js:12:9")
    assert tare.sql(trace, SITES) == [
        {"function": "build", "file": "/srv/app.js", "line": 12, "blocks": 1500, "sites": 1}
    ], "two versions of one function are one site"
    trace = record(tare, maps, node, "FIRST JS:*build node:internal/url:7:1", "SECOND Builtin:Call")
    found = {row["function"]: row["blocks"] for row in tare.sql(trace, SITES)}
    assert found == {"build": 1000, "keep_one": 500}, "the engine's own code has no line of the user's"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize("option", ["--perf-basic-prof", "--perf-prof"])
def test_node_names_the_line_of_the_script(tare: Tare, tmp_path: Path, maps: list[Path], option: str) -> None:
    """From its map, and from the jitdump that it writes into the working directory."""
    script = tmp_path / "app.js"
    script.write_text(
        "const kept = [];\n"
        "function keep(n) {\n"
        "  for (let i = 0; i < n; i++) kept.push(Buffer.allocUnsafeSlow(5001));\n"
        "}\n"
        "for (let i = 0; i < 40; i++) keep(50);\n"
        "console.log(process.pid, kept.length);\n"
    )
    flags = (option, "--interpreted-frames-native-stack")
    done = tare("run", "-q", "-o", "t.tare", "--", "node", *flags, script)
    assert done.returncode == 0, done.stderr
    match = re.match(r"(\d+) 2000\n", done.stdout)
    assert match
    maps.append(Path(f"/tmp/perf-{match[1]}.map"))
    rows = tare.sql(tare.folder / "t.tare", SITES.replace("= 1000", "= 5001").replace("end_blocks", "total_blocks"))
    assert rows[0]["function"] == "keep"
    assert rows[0]["file"] == str(script)
    assert rows[0]["line"] == 2
    assert sum(row["blocks"] for row in rows if row["function"] == "keep") >= 1990
    assert "function" in rows[0]
