"""Imports a text as a file of another profiler, and asks the recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from importing import Imported
from tare.cli import main


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Imported]:
    """imported(bytes or path, *options) gives the recording."""

    def make(content: bytes | Path, *options: str) -> Imported:
        file = content
        if isinstance(content, bytes):
            file = tmp_path / "source"
            file.write_bytes(content)
        output = tmp_path / "imported.tare"
        assert main(["import", str(file), "-o", str(output), *options]) == 0, capsys.readouterr().err
        return Imported(output)

    return make
