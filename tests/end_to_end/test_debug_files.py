"""Names of a stripped program: from a folder of debug files, and from a debuginfod client."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Tare

pytestmark = pytest.mark.skipif(shutil.which("objcopy") is None, reason="no objcopy (binutils)")


def stripped(program: Callable[..., Path], folder: Path) -> tuple[Path, Path]:
    """A program without names, and its debug file elsewhere."""
    whole = program("steady.c", "-Wl,--build-id")
    own, debug = folder / "stripped", folder / "symbols/stripped.debug"
    debug.parent.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", whole, own], check=True)
    return own, debug


def names(tare: Tare, trace: Path, *options: str, env: dict[str, str]) -> list[str]:
    done = tare("report", trace, "--json", *options, env=env)
    assert done.returncode == 0, done.stderr
    stacks = [record["stack"] for record in json.loads(done.stdout)["records"]["list"]]
    return [f"{frame['function']} {frame['file']}" for stack in stacks for frame in stack]


def test_a_folder_of_debug_files_names_a_stripped_program(tare: Tare, program: Callable[..., Path]) -> None:
    own, debug = stripped(program, tare.folder)
    trace = tare.record(own, "count", "1000")
    assert not any("steady.c" in name for name in names(tare, trace, env={"TARE_SYMBOLS": ""}))
    named = names(tare, trace, env={"TARE_SYMBOLS": str(debug.parent)})
    assert any(name.startswith("main ") and name.endswith("steady.c") for name in named)
    other = shutil.copy("/bin/true", debug)
    assert not any("steady.c" in name for name in names(tare, trace, env={"TARE_SYMBOLS": str(Path(other).parent)}))


CLIENT = """#!/bin/sh
# As the client of elfutils: prints the path of the file in its cache, or fails.
echo "$2" >> {log}
test "$2" = {build_id} || {{ echo 'Server query failed: No such file or directory' >&2; exit 1; }}
mkdir -p {cache}/$2 && cp {debug} {cache}/$2/debuginfo && echo {cache}/$2/debuginfo
"""


def test_debuginfod_is_asked_on_request_only(tare: Tare, program: Callable[..., Path]) -> None:
    own, debug = stripped(program, tare.folder)
    trace = tare.record(own, "count", "1000")
    (row,) = tare.sql(trace, "select build_id from modules where path like '%/stripped'")
    client, log = tare.folder / "bin/debuginfod-find", tare.folder / "log"
    client.parent.mkdir()
    client.write_text(CLIENT.format(log=log, build_id=row["build_id"], cache=tare.folder / "cache", debug=debug))
    client.chmod(0o755)
    env = {"PATH": f"{client.parent}:/usr/bin:/bin", "DEBUGINFOD_URLS": "http://127.0.0.1:1"}
    assert not any("steady.c" in name for name in names(tare, trace, env=env))
    assert not log.exists()
    assert any(name.endswith("steady.c") for name in names(tare, trace, "--debuginfod", env=env))
    assert row["build_id"] in log.read_text().split()
    refused = tare("report", trace, "--debuginfod", env={**env, "DEBUGINFOD_URLS": ""})
    assert refused.returncode == 2 and "DEBUGINFOD_URLS" in refused.stderr
    missing = tare("report", trace, "--debuginfod", env={**env, "PATH": str(tare.folder)})
    assert missing.returncode == 2 and "debuginfod-find" in missing.stderr
