"""Damaged files of other profilers: an import succeeds, or fails with one line, and leaves no recording."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from goldens import ALL, MEMRAY, PPROF, signed, varint
from importing import Imported
from tare.cli import main

MUTANTS = 150


def mutated(original: bytes, random_source: random.Random) -> bytes:
    """One to four of: a changed byte, a removed or repeated piece, another number, a cut."""
    content = bytearray(original)
    for _ in range(random_source.randint(1, 4)):
        at = random_source.randrange(max(len(content), 1))
        end = min(at + random_source.randint(1, 30), len(content))
        kind = random_source.randrange(5)
        if kind == 0 and content:
            content[at % len(content)] = random_source.randrange(256)
        elif kind == 1:
            del content[at:end]
        elif kind == 2:
            content[at:at] = content[at:end] * random_source.randint(1, 3)
        elif kind == 3:
            content[at:end] = random_source.choice(
                [b"0", b"-1", b"99999999999999999999", b"ffffffffffffffff", b"\xff\xff\xff\xff\xff\x0f", b"\n"]
            )
        else:
            del content[at:]
    return bytes(content)


@pytest.mark.parametrize("name", ALL)
def test_no_mutant_gives_more_than_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random_source = random.Random(name)
    source, output = tmp_path / "source", tmp_path / "out.tare"
    format_name = {"raw": "heaptrack", "jemalloc": "jeprof", "tcmalloc": "jeprof", "memray-lz4": "memray"}.get(
        name, name
    )
    statuses = set()
    for _ in range(MUTANTS):
        content = mutated(ALL[name], random_source)
        source.write_bytes(content)
        try:
            status = main(["import", str(source), "--from", format_name, "-o", str(output)])
        except BaseException:
            (tmp_path / "failing").write_bytes(content)
            raise
        statuses.add(status)
        lines = capsys.readouterr().err.splitlines()
        assert status in (0, 3), (content, lines)
        assert output.exists() == (status == 0)
        if status == 0:
            output.unlink()
        else:
            assert len(lines) == 1 and "is damaged" in lines[0], (content, lines)
    assert statuses == {0, 3}  # both were tried
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source"]


def test_a_number_where_a_text_must_be_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source"
    source.write_bytes(gzip.decompress(PPROF) + b"\x30\x01")  # field 6, the texts
    assert main(["import", str(source), "--from", "pprof"]) == 3
    assert "is damaged" in capsys.readouterr().err


def test_a_mapping_that_munmap_leaves_may_begin_on_a_block(tmp_path: Path) -> None:
    def record(address_before: int, address: int, kind: int, size: int) -> bytes:
        short = kind < 8
        flags = bytes([0x80 | 15 << 3 | (kind if short else 0)])
        step = signed((address >> 3) - (address_before >> 3))
        return flags + step + (b"" if short else bytes([kind])) + varint(size)

    head = MEMRAY[: MEMRAY.index(b"/path\0\0") + 7] + bytes([12]) + bytes(8)
    mapped, malloc = record(0, 0x10000, 14, 0x3000), record(0x10000, 0x12000, 6, 100)
    source = tmp_path / "source"
    source.write_bytes(head + mapped + malloc + record(0x12000, 0x11000, 15, 0x1000) + bytes([1]))
    assert main(["import", str(source)]) == 0
    process = Imported(Path(f"{source}.tare")).process
    assert (process["impossible_events"], process["end_requested_bytes"]) == (0, 0x1000 + 0x1000)


def test_a_stranger_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source"
    for content in (b"", b"hello\n", bytes(range(256)) * 20):
        source.write_bytes(content)
        assert main(["import", str(source)]) == 2
        assert "isn't recognized" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "missing")]) == 4
