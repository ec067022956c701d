"""Debug files from debuginfod servers, only on request: elfutils' client fetches them into its cache, which reports then search."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tare.errors import USAGE, TareError
from tare.naming.symbol_folders import search_too
from tare.progress import Progress, warn

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLIENT = "debuginfod-find"
_INSTALLED = Path("/usr/lib/debug/.build-id")
_LONGEST_S = 600  # of one file; the client ends a transfer that stands still by DEBUGINFOD_TIMEOUT


def fetch(modules: Iterable[tuple[str, str]]) -> int:
    """Of files of code, as path and build id in hexadecimal digits, those without an installed debug file; how many the servers had.
    Later lookups of names in this process find them (TARE_SYMBOLS)."""
    client = shutil.which(_CLIENT)
    if client is None:
        raise TareError(USAGE, f"--debuginfod needs the command {_CLIENT}: apt install debuginfod")
    if not os.environ.get("DEBUGINFOD_URLS"):
        raise TareError(USAGE, "--debuginfod needs servers: set DEBUGINFOD_URLS, such as https://debuginfod.debian.net")
    wanted = [each for each in modules if each[1] and not (_INSTALLED / each[1][:2] / f"{each[1][2:]}.debug").exists()]
    folders: dict[str, None] = {}
    missing = []
    with Progress("fetching debug files") as progress:
        for number, (path, build_id) in enumerate(wanted):
            progress.update(number / len(wanted), path)
            file = _file_of(client, build_id)
            if file is None:
                missing.append(os.path.basename(path))
            else:  # FOLDER/BUILDID/debuginfo
                folders[str(file.parent.parent)] = None
    if missing:
        warn(f"no debug file from debuginfod for {', '.join(missing)}")
    search_too(folders)
    return len(wanted) - len(missing)


def _file_of(client: str, build_id: str) -> Path | None:
    try:
        done = subprocess.run(
            [client, "debuginfo", build_id], capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    file = Path(done.stdout.strip())
    return file if done.returncode == 0 and file.is_file() else None
