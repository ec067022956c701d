"""A fuzz target for the importer of one format: libFuzzer's course, guided by the coverage of Python's code (package atheris).

An input passes if it becomes a recording that opens, or if it is refused by one line that calls it damaged. libFuzzer's options bound
time and memory: tools/fuzz.sh gives 10 s and 1 GiB for inputs of up to 1 MiB.

    .venv/bin/python fuzz/importers/fuzz_importer.py FORMAT [options of libFuzzer] [folder of inputs ...]
    .venv/bin/python fuzz/importers/fuzz_importer.py FORMAT FILE          one input
    .venv/bin/python fuzz/importers/fuzz_importer.py FORMAT --seeds DIR   write the seeds

Inputs are unpacked files: for packed ones, seeds are packed and unpacked ones.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python/imports"))

with atheris.instrument_imports(include=["tare.imports", "tare.imports.*"]):
    import tare.imports.dhat
    import tare.imports.heaptrack
    import tare.imports.jeprof
    import tare.imports.line_table
    import tare.imports.ltrace
    import tare.imports.massif
    import tare.imports.memray
    import tare.imports.pprof  # noqa: F401

import goldens  # noqa: E402 (the readers are instrumented before)
from tare import _core  # noqa: E402
from tare.commands import import_  # noqa: E402
from tare.errors import CORRUPT, TareError  # noqa: E402

SEEDS = {
    "heaptrack": ("heaptrack", "raw"),
    "memray": ("memray", "memray-lz4"),
    "pprof": ("pprof",),
    "dhat": ("dhat",),
    "massif": ("massif",),
    "jeprof": ("jemalloc", "tcmalloc"),
    "ltrace": ("ltrace",),
}


def write_seeds(name: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in SEEDS[name]:
        content = goldens.ALL[seed]
        (folder / seed).write_bytes(content)
        if content[:2] == b"\x1f\x8b":
            (folder / f"{seed}-unpacked").write_bytes(gzip.decompress(content))


class Importer:
    def __init__(self, name: str, folder: Path) -> None:
        self._source, self._output = folder / "source", folder / "imported.tare"
        self._options = argparse.Namespace(file=str(self._source), format=name, output=str(self._output))

    def __call__(self, data: bytes) -> None:
        self._source.write_bytes(data)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                import_.run(self._options)
        except TareError as error:
            assert error.kind == CORRUPT, error.message
            assert "is damaged" in error.message and "\n" not in error.message, error.message
            assert not self._output.exists()
            return
        process = _core.open(str(self._output), None, lambda _done, _all: None, None).table("process").row(0)
        assert process["impossible_events"] == 0, "an event of the import is impossible"
        self._output.unlink()


def main() -> None:
    name, *arguments = sys.argv[1:]
    if arguments[:1] == ["--seeds"]:
        write_seeds(name, Path(arguments[1]))
        return
    with tempfile.TemporaryDirectory() as folder:  # tools/fuzz.sh deletes it: Fuzz() doesn't return
        atheris.Setup([sys.argv[0], *arguments], Importer(name, Path(folder)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
