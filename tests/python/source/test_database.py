"""DuckDB as an engine: where it writes what exceeds its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.source.database import Database

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from tare import schema
    from tare.source.database import TableStore


class NoTables:
    def load(self, table: schema.Table, into: TableStore) -> None:
        raise AssertionError(table.name, into)


def test_data_beyond_the_limit_lies_in_a_folder_of_an_unknown_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    names = []
    for _ in range(2):
        database = Database(NoTables())
        database.run("set memory_limit = '20MB'")
        database.run("create table t as select hash(range) as h from range(8000000)")
        (folder,) = tmp_path.iterdir()
        names.append(folder.name)
        database.connection.close()
        assert not list(tmp_path.iterdir())
    assert names[0] != names[1]
