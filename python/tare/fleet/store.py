"""A store as its readers see it: the recordings that are in it, and their rows in an engine that answers SQL."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.errors import CORRUPT, QUERY, USAGE, TareError
from tare.fleet import layout, remote
from tare.fleet.adding import data_files, quoted
from tare.fleet.facts import TABLES
from tare.source.database import engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import duckdb

FIELDS = ("program", "build", "machine", "path", "key")  # that a filter can name beside labels
# Columns of the table `recordings`; `labels` is a map, read as labels['canary'].
COLUMNS = (
    "recording bigint, key varchar, path varchar, program varchar, command_line varchar, build varchar, build_id varchar,"
    " machine varchar, started_ns bigint, duration_ns bigint, added_ns bigint, sample_bytes bigint, peak_gross_bytes double,"
    " end_gross_bytes double, peak_tare_bytes double, end_tare_bytes double, peak_rss_bytes double, tare_version varchar,"
    " lenses varchar[], labels map(varchar, varchar)"
)
_NAMES = [column.split()[0] for column in COLUMNS.split(", ") if " " in column]


class Condition(NamedTuple):
    name: str
    pattern: str

    def fits(self, entry: dict[str, Any]) -> bool:
        value = entry[self.name] if self.name in FIELDS else entry["labels"].get(self.name, "")
        return fnmatchcase(str(value), self.pattern)


def condition(text: str) -> Condition:
    """`build=1.2*`, `canary=yes`: a field of the recordings or a label, and a pattern of its value."""
    name, separator, pattern = text.partition("=")
    if not separator or not name:
        raise ValueError(f"NAME=PATTERN, where NAME is {', '.join(FIELDS)} or a label")
    return Condition(name, pattern)


class Store:
    def __init__(self, path: Path, where: Sequence[Condition] = ()) -> None:
        layout.check(path)
        self.path = path
        self._where = where

    @cached_property
    def all_entries(self) -> list[dict[str, Any]]:
        """Of all recordings in the store, oldest first."""
        entries = layout.read_all(self.path / layout.RECORDINGS).values()
        return sorted(entries, key=lambda entry: (entry["started_ns"], entry["key"]))

    @cached_property
    def merged(self) -> dict[str, dict[str, Any]]:
        """Files made by `compact`, by group."""
        return {file.stem: value for file, value in layout.read_all(self.path / layout.MERGED).items()}

    @cached_property
    def entries(self) -> list[dict[str, Any]]:
        """Of those that the conditions keep."""
        found = [entry for entry in self.all_entries if all(each.fits(entry) for each in self._where)]
        if not found:
            filters = " and ".join(f"{each.name}={each.pattern}" for each in self._where)
            reason = f"no recording with {filters}" if filters else "no recording"
            raise TareError(
                USAGE, f'fleet: {self.path} has {reason}: tare fleet sql {self.path} "from recordings" lists them'
            )
        return found

    def files(self, table: str) -> list[str]:
        """With the rows of all recordings in the store."""
        return needed_files(table, self.all_entries, self.merged)

    @cached_property
    def _scratch(self) -> TemporaryDirectory[str]:
        """DuckDB's own files. Not in the working directory, which may be small or read-only, and of no name that others can guess."""
        return TemporaryDirectory(prefix="tare-fleet-")

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Tables `recordings`, `site_sums`, `claims`, `sites`, of the recordings that the conditions keep."""
        connection: duckdb.DuckDBPyConnection = engine().connect(
            ":memory:",
            config={
                "memory_limit": "3GB",
                "preserve_insertion_order": "false",
                "temp_directory": self._scratch.name,
            },
        )
        remote.let_read(connection, self.path)
        connection.execute(f"create table recordings ({COLUMNS})")
        with connection.appender("recordings") as appender:
            appender.append_rows(self.recording_rows())
        for table, columns in TABLES.items():
            files = self.files(table)
            typed = [column.split() for column in columns.split(", ")]
            # A file of an earlier version lacks columns that were added since: null.
            source = f"select {', '.join(f'cast(null as {kind}) as {name}' for name, kind in typed)} where false"
            if files:
                source += f" union all by name select * from {data_files(self.path, files)}"
            connection.execute(f"create view {table} as {view(table, f'({source})')}")
        return connection

    def recording_rows(self) -> list[tuple[Any, ...]]:
        return [tuple(entry.get(name) for name in _NAMES) for entry in self.entries]

    def table(self, name: str, columns: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """A small table beside those of the store, in place of one with this name."""
        self.connection.execute(f"create or replace temp table {name} ({columns})")
        with self.connection.appender(name) as appender:
            appender.append_rows(rows)

    def literal(self, text: str) -> str:
        """A text in a statement."""
        return quoted(text)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.answer(sql, parameters)[1]

    def answer(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        duckdb = engine()
        try:
            cursor = self.connection.execute(sql, parameters or None)
            names = [column[0] for column in cursor.description or ()]
            return names, cursor.fetchall() if names else []
        except (duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException) as error:
            reason = str(error).splitlines()[0]
            raise TareError(CORRUPT, f"fleet: {reason}: run tare fleet verify {self.path}") from None
        except duckdb.Error as error:
            message = " ".join(line.strip() for line in str(error).splitlines() if line.strip() and "^" not in line)
            raise TareError(QUERY, f"fleet sql: {message}") from None


def view(table: str, source: str) -> str:
    """The rows of a table that readers see, in the SQL that DuckDB and Spark share. Recordings of a build can differ in the lines of a
    site's functions: the least text is the same in each engine and call."""
    if table == "sites":
        first = ", ".join(f"min_by({name}, stack) as {name}" for name in ("function", "place", "module"))
        return f"select site, build_id, {first}, min(stack) as stack from {source} stored group by site, build_id"
    names = ", ".join(column.split()[0] for column in TABLES[table].split(", "))
    return f"select {names} from {source} stored where recording in (select recording from recordings)"


def group_of(table: str, number: int) -> str:
    """Files of a group are merged together: names of all recordings, so that a build has them once; other rows a bucket."""
    return "sites" if table == "sites" else f"bucket-{number % layout.BUCKETS:02}"


def needed_files(table: str, entries: Sequence[dict[str, Any]], merged: Mapping[str, dict[str, Any]]) -> list[str]:
    """Files of `compact`, then those of recordings that it hasn't merged."""
    found: dict[str, None] = {}
    groups = {name: set(value["recordings"]) for name, value in merged.items()}
    for name, value in merged.items():
        if (name == "sites") == (table == "sites"):
            found |= dict.fromkeys(value["files"].get(table, []))
    for entry in entries:
        if entry["recording"] not in groups.get(group_of(table, entry["recording"]), ()):
            found[entry["files"][table]] = None
    return list(found)
