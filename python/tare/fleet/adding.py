"""Adding recordings: data files first, then the one file that makes the recording part of the store."""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tare.errors import CORRUPT, IO, TareError
from tare.fleet import layout, remote
from tare.fleet.engine import beside, one_thread
from tare.fleet.facts import ORDER, TABLES, Facts, facts_of
from tare.progress import warn
from tare.source.database import engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.source.database import Database

# 1.25 M rows of site_sums were 11 % smaller than at DuckDB's default of 122,880, and read as fast.
_ROW_GROUP = 100_000


class Origin(NamedTuple):
    """Facts that a recording doesn't contain; empty: derived."""

    build: str = ""
    machine: str = ""
    labels: Mapping[str, str] = {}


def add(store: Path, trace: str, origin: Origin) -> bool:
    """False: the store has it already."""
    from tare import lenses
    from tare.analysis.quick_recording import names_no_shapes
    from tare.analysis.recording import Recording
    from tare.source.core_source import CoreSource

    layout.create(store)
    try:
        key = layout.file_hash(Path(trace))
    except OSError as error:
        raise TareError(IO, f"fleet add: can't read {trace}: {error.strerror}") from None
    if (store / layout.RECORDINGS / f"{key}.json").exists():
        return False
    source = CoreSource(trace)
    if not source.process()["program"]:
        raise TareError(CORRUPT, f"fleet add: {trace} has no process: it was cut short before its first event")
    names = lenses.names_for([])
    if names_no_shapes(lenses.load_runnable(names, source.process()), made_from_sizes=["type_sites"]):
        source = source.by_site()
    recording = Recording(source, names)
    for warning in recording.source.warnings:
        warn(warning)
    facts = facts_of(recording)
    with beside(cast("Database", recording.database).connection) as connection:
        return bool(_add(store, [(key, os.path.abspath(trace), facts, origin)], connection, None))


def add_facts(store: Path, recordings: Sequence[tuple[str, str, Facts, Origin]], bucket: int | None = None) -> int:
    """Recordings as (key, path, facts, origin), in one file a table; how many weren't there. The numbers of the recordings
    are of one bucket."""
    with one_thread("1GB") as connection:
        return _add(store, recordings, connection, bucket)


def _add(store: Path, recordings: Sequence[tuple[str, str, Facts, Origin]], connection: Any, bucket: int | None) -> int:
    """A recording that was removed and is added again gets another number, so that rows which wait for `compact` stay gone."""
    bucket = secrets.randbelow(layout.BUCKETS) if bucket is None else bucket
    numbers = [secrets.randbits(56) * layout.BUCKETS + bucket for _ in recordings]
    try:
        with remote.reached(store):
            return _write(store, recordings, connection, numbers, bucket)
    except (OSError, engine().Error) as error:
        raise _can_not_write(store, error) from None


def _write(
    store: Path,
    recordings: Sequence[tuple[str, str, Facts, Origin]],
    connection: Any,
    numbers: Sequence[int],
    bucket: int,
) -> int:
    files = {}
    for table, columns in TABLES.items():
        rows = [(number, *row) for number, each in zip(numbers, recordings, strict=True) for row in each[2].rows[table]]
        connection.execute(f"create table {table} ({columns})")
        with connection.appender(table) as appender:
            appender.append_rows(rows)
        files[table] = write_rows(store, connection, table, f"select * from {table}", bucket)
    added = 0
    for number, (key, path, facts, origin) in zip(numbers, recordings, strict=True):
        entry = _entry(number, key, path, facts, origin) | {"files": files}
        added += layout.write_json(store, f"{layout.RECORDINGS}/{key}.json", entry, once=True)
    return added


def write_rows(store: Path, connection: Any, table: str, query: str, bucket: int) -> str:
    """A data file of a query's rows, sorted; its name in the store."""
    with layout.part_file(store) as part:
        connection.execute(
            f"copy (select * from ({query}) order by {ORDER[table]}) to {quoted(str(part))}"
            f" (format parquet, compression zstd, row_group_size {_ROW_GROUP})"
        )
        return layout.place(store, part, table, bucket)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def data_files(store: Path, files: Sequence[str]) -> str:
    """The rows of files in the store. DuckDB reads paths as patterns, in which [x] stands for x."""
    paths = (quoted(re.sub(r"[\[*?]", r"[\g<0>]", str(store / file))) for file in files)
    return f"read_parquet([{', '.join(paths)}], union_by_name = true)"


def _entry(number: int, key: str, path: str, facts: Facts, origin: Origin) -> dict[str, Any]:
    totals = dict(facts.totals)
    host = totals.pop("host")
    return totals | {
        "recording": number,
        "key": key,
        "path": path,
        "build": origin.build or totals["build_id"][:12] or "(none)",
        "machine": origin.machine or host or "(unknown)",
        "labels": dict(origin.labels),
        "added_ns": time.time_ns(),
    }


def _can_not_write(store: Path, error: Exception) -> TareError:
    reason = (isinstance(error, OSError) and error.strerror) or str(error).splitlines()[0]
    return TareError(IO, f"fleet: can't write to {store}: {reason}; the store is as before: free space, then add again")
