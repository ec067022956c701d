"""A trace file as a source of tables and names: the bridge from the core to the reports."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal

from tare import _core, schema
from tare.errors import CORRUPT, TareError
from tare.progress import Progress, warn
from tare.schema import missing
from tare.source.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tare.naming.names import FrameRow
    from tare.source.database import TableStore
    from tare.types.site_layouts import SiteLayouts

# Rows up to which text is the cheaper way into DuckDB. Its Arrow scan needs the whole `duckdb` package, 47 ms of imports
# that the engine itself doesn't need; text costs 25 ns a value, so 100,000 rows of 21 columns come out even.
_TEXT_ROWS = 100_000

# `line`: stacks with the same naming line are one, which is all that a summary shows. A compiler's 245,000 shapes are
# 30,000 then, and its summary costs 0.2 s of CPU instead of 0.7. `band`: and sizes that no finding would name are joined,
# see src/core/recording/size_bands.h. `site`: sizes by site, all else by stack: 151,000 shapes of a Python program are 11,000.
DetailLevel = Literal["stack", "line", "band", "site"]
_FOLDED = ("site_sizes", "growth", "written", "recreated", "peak_contents", "call_costs", "mappings", "failed_requests")
_SNAPSHOT_TABLES = ("snapshots", "snapshot_blocks", "snapshot_sizes", "resident", "pointer_words")
# Tables that one walk over the trace makes together, by the text of the progress line.
_WALKS = {
    "reading reports": ("reports", "amounts", "sharing", "pools", "pool_memory", "pool_blocks", "claimed"),
    "reading contents": ("block_history",),
    "reading lives of blocks": ("lifetimes", "intervals"),
    "reading threads of blocks": ("thread_sizes",),
}


# Frames that suppressions are held against. The defaults name functions close to malloc: looking up all of a compiler's
# stacks for them would be a second of CPU.
_WHOLE_STACK = 64
_NEAR = 4


class CoreSource:
    """A trace's tables and names."""

    def __init__(
        self,
        path: str,
        *,
        at_ns: int | None = None,
        depth: int = 8,
        model: str = "",
        detail: DetailLevel = "stack",
        suppressions: Sequence[str] = (),
        recording: _core.Recording | None = None,
        outcome: _core.Outcome | None = None,
        by_thread: bool = False,
    ) -> None:
        """`recording`: opened already, or one that still goes on (_core.of_tables). `outcome`: see _core.open. `by_thread`: the table
        thread_sizes will be used, so it is made while the trace is read.
        """
        self.path = path
        self.depth = depth
        self._at_ns = at_ns
        self._model = model
        self._detail = detail
        if recording is None:
            with Progress(f"reading {path}") as progress:
                recording = _core.open(path, at_ns, _progress(progress), outcome, by_thread)
        self._recording = recording
        self._missing_facts = str(recording.table("process").row(0)["missing_facts"] or "")
        self.warnings: Sequence[str] = self._recording.warnings
        self._sites_ready = False
        self._walked: dict[str, dict[str, _core.Table]] = {}
        self._claimed_at: tuple[int | None, int | None] = (None, None)
        self._snapshot_tables: dict[str, _core.Table] = {}
        self._layouts: dict[str, _core.Layouts | None] = {}  # by module, for all levels
        self._suppressions = suppressions  # files
        self._suppressed: list[int] | None = None  # stacks; null: not computed

    def load(self, table: schema.Table, into: TableStore) -> None:
        if not isinstance(into, Database):
            into.fill(table, _rows_of(table, self._make(table.name)))
            return
        if table.name in missing.empty_tables(self._missing_facts):
            into.run(table.ddl())
            return
        if table.name == "blocks":
            self._load_blocks(table, into)
            return
        if table.name == "type_sites":
            into.fill(table, self.site_layouts(into).rows())
            return
        made = self._make(table.name)
        if made.rows > _TEXT_ROWS:
            _load_stream(table, made, into, self._missing_facts)
        else:
            _load_text(table, made, into, self._missing_facts)

    def _load_blocks(self, table: schema.Table, into: Database) -> None:
        """In batches as they come, so that memory is DuckDB's to bound."""
        into.run(table.ddl())
        with Progress("listing blocks") as progress:
            try:
                self._recording.list_blocks(
                    lambda batch: _append_stream(table, batch, into, self._missing_facts), _progress(progress)
                )
            except TareError as error:
                if error.kind != CORRUPT:
                    raise
                warn(error.message)  # rows before the damage are still in the table

    def count(self, name: str) -> int:
        """Rows of a table."""
        return self._make(name).rows

    def named_snapshots(self) -> dict[str, int]:
        """The times of snapshots that were requested with a name; of a repeated name, the last."""
        snapshots = self._make_snapshot_tables()["snapshots"]
        columns = (snapshots.values(column) for column in ("kind", "name", "time_ns"))
        return {name: time_ns for kind, name, time_ns in zip(*columns, strict=True) if kind == "request" and name}

    def _make(self, name: str) -> _core.Table:
        if name in ("sites", "stack_sites"):
            self._make_sites()
            return self._table_at_level(name)
        if name == "frames":
            with Progress("looking up names"):
                return self._recording.frames_table()
        if self._detail == "band" and name in ("site_sizes", "size_classes"):
            self._make_sites()
            return self._recording.banded_table(name)
        if name == "size_classes":
            return self._recording.size_classes(self._model)
        for walk, names in _WALKS.items():
            if name in names:
                return self._walk_for(walk)[name]
        if name in _SNAPSHOT_TABLES:
            return self._make_snapshot_tables()[name]
        if name == "twins":
            return self._make_twins()
        if self._detail != "stack" and name in _FOLDED:
            self._make_sites()
            return self._table_at_level(name)
        if name == "written":  # judged by the site
            self._make_sites()
        return self._recording.table(name)

    def site_layouts(self, database: TableStore) -> SiteLayouts:
        """Types of the recorded modules, read for this. `database` is of this source."""
        from tare.types.site_layouts import SiteLayouts

        database.use("site_sizes")
        apart = (
            set(self._recording.table_by_site("large_stacks").values("stack_id")) if self._detail == "site" else None
        )
        return SiteLayouts(self._recording, database.rows, lambda: self._make("amounts"), self._layouts, apart)

    def _make_sites(self) -> None:
        if not self._sites_ready:
            with Progress("looking up names"):
                self._recording.find_sites(self.depth)
            self._sites_ready = True

    def _make_snapshot_tables(self) -> dict[str, _core.Table]:
        """The tables of snapshots: read together."""
        if not self._snapshot_tables:
            by_line = self._is_by_line
            if by_line:
                self._make_sites()
            tables, warnings = self._recording.snapshot_tables(by_line, self._suppressed_stacks())
            self._snapshot_tables = {table.name: table for table in tables}
            for warning in warnings:
                warn(warning)
        return self._snapshot_tables

    def _make_twins(self) -> _core.Table:
        by_line = self._is_by_line
        if by_line:
            self._make_sites()
        with Progress("pairing blocks") as progress:
            (table,), warnings = self._recording.twin_tables(by_line, _progress(progress))
            progress.clear()
        for warning in warnings:
            warn(warning)
        return table

    def _suppressed_stacks(self) -> list[int]:
        """Stacks of leaks that are known and left alone."""
        if self._suppressed is None:
            from tare.naming import suppressions
            from tare.naming.names import Names

            known = suppressions.load(self._suppressions)
            depth = _WHOLE_STACK if known else _NEAR
            matcher = suppressions.Matcher([*suppressions.defaults(), *known])
            names = Names(self)
            stacks = self._recording.leaking_stacks()
            names.prepare_stacks(stacks, depth)
            self._suppressed = [stack for stack in stacks if matcher.matches(names.stack(stack, depth))]
        return self._suppressed

    def _walk_for(self, walk: str) -> dict[str, _core.Table]:
        if walk not in self._walked:
            with Progress(f"{walk}") as progress:
                if walk == "reading reports":
                    tables, warnings = self._recording.program_tables(*self._claimed_at, _progress(progress))
                elif walk == "reading contents":
                    tables, warnings = self._recording.history_tables(_progress(progress))
                elif walk == "reading threads of blocks":
                    tables, warnings = self._recording.thread_tables(self._at_ns, _progress(progress))
                else:
                    tables, warnings = self._recording.life_tables(_progress(progress))
                progress.clear()
            self._walked[walk] = {table.name: table for table in tables}
            for warning in warnings:
                warn(warning)
        return self._walked[walk]

    def claim_at(self, at_ns: int | None, reports: int | None) -> None:
        """Table `claimed` is of this time from now on, or after so many reports; without either of the end."""
        if self._claimed_at != (at_ns, reports):
            self._claimed_at = (at_ns, reports)
            self._walked.pop("reading reports", None)

    def process(self) -> dict[str, Any]:
        row = self._recording.table("process").row(0)
        return row | dict.fromkeys(missing.null_columns(self._missing_facts, "process"))

    def inherited_peak_bytes(self) -> float:
        """Gross bytes of blocks that were the parent's at the fork and lived at the peak."""
        process = self._recording.table("process").row(0)
        if not process["forked"] or not process["inherited_blocks"]:
            return 0.0
        sizes = self._recording.table("site_sizes")
        columns = ("inherited", "peak_blocks", "usable_bytes", "header_bytes")
        rows = zip(*(sizes.values(column) for column in columns), strict=True)
        return float(sum(blocks * (usable + header) for inherited, blocks, usable, header in rows if inherited))

    def stack_rows(self, stack_id: int, depth: int) -> list[int]:
        return self._recording.stack_rows(stack_id, depth)

    def rows_of_stacks(self, stack_ids: Sequence[int]) -> list[int]:
        return _core.rows_of_stacks(self._recording, list(stack_ids))

    def stack_sums(self, live: str, with_lifetimes: bool) -> dict[str, bytes] | None:
        return _core.stack_sums(self._recording, live, with_lifetimes)

    def sample_sums(
        self, live: str, with_threads: bool, by_size: bool, tare: tuple[bytes, bytes, bytes]
    ) -> dict[str, bytes] | None:
        threads: Any = self._recording.table("process").row(0)["threads"] if with_threads else 0
        # The only thread has number 0.
        of_threads = self._make("thread_sizes") if threads > 1 else None
        thread = 0 if threads == 1 else -1
        return _core.sample_sums(self._recording, live, of_threads, thread, by_size, tare)

    def stack_texts(self, outermost_first: bool, separator: bytes) -> _core.StackTexts:
        return _core.stack_texts(self._recording, outermost_first, separator)

    def frame_tree(self, outermost_first: bool) -> _core.FrameTree:
        return _core.frame_tree(self._recording, outermost_first)

    def nameless_modules(self) -> list[tuple[str, str]]:
        return self._recording.nameless_modules()

    def line_callers(self, rows: Sequence[int]) -> list[tuple[int, int | None, float, float]]:
        self._make_sites()
        return self._recording.line_callers(rows)

    def by_line(self) -> CoreSource:
        """The same recording, its stacks folded by the line that names them: the level of a run's summary."""
        return self._with_detail("line")

    def in_bands(self) -> CoreSource:
        """The same with fewer sizes, for the screen that ends a run; only where no table but site_sizes names shapes."""
        return self._with_detail("band")

    def by_site(self) -> CoreSource:
        """The same with stacks of a site as one in site_sizes; only where no table but those made from it names shapes."""
        return self._with_detail("site")

    def _table_at_level(self, name: str) -> _core.Table:
        if self._detail == "site":
            return self._recording.table_by_site(name)
        return self._recording.line_table(name) if self._is_by_line else self._recording.table(name)

    @property
    def _is_by_line(self) -> bool:
        return self._detail in ("line", "band")

    def _with_detail(self, detail: DetailLevel) -> CoreSource:
        folded = copy.copy(self)
        folded._detail = detail
        folded._snapshot_tables = {}  # their shapes are others
        return folded

    def frames(self, location_ids: Sequence[int]) -> list[FrameRow]:
        return self._recording.frames(list(location_ids))


def _progress(progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress.update(done / total if total else -1.0)


def _rows_of(table: schema.Table, made: _core.Table) -> Iterable[tuple[Any, ...]]:
    """The schema's columns as Python values."""
    return zip(*(made.values(column.name) for column in table.columns), strict=True)


def _selection(table: schema.Table, missing_facts: str) -> str:
    """The schema's columns by name and type."""
    values = dict.fromkeys(missing.null_columns(missing_facts, table.name), "null")
    values |= missing.partly_null(missing_facts, table.name)
    return ", ".join(
        f"cast({values.get(column.name, column.name)} as {column.type}) as {column.name}" for column in table.columns
    )


def _load_text(table: schema.Table, made: _core.Table, into: Database, missing_facts: str) -> None:
    import os

    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in made.columns)
    fd = made.write_text()
    try:
        into.run(
            f"create table {table.name} as select {_selection(table, missing_facts)} from read_csv('/proc/self/fd/{fd}', auto_detect=false,"
            f" header=false, delim=',', quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, columns={{{columns}}})"
        )
    finally:
        os.close(fd)


def _load_stream(table: schema.Table, made: _core.Table, into: Database, missing_facts: str) -> None:
    into.run(table.ddl())
    _append_stream(table, made, into, missing_facts)


def _append_stream(table: schema.Table, made: _core.Table, into: Database, missing_facts: str) -> None:
    import duckdb  # noqa: F401  (the engine scans Arrow streams through the package)

    into.connection.register("tare_stream", made)
    try:
        into.run(f"insert into {table.name} select {_selection(table, missing_facts)} from tare_stream")
    finally:
        into.connection.unregister("tare_stream")
