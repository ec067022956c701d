"""What the extension module offers; src/bindings/ converts and calls, no more."""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import Buffer

from tare.naming.names import FrameRow

VERSION: str  # of include/tare/version.h
PYTHON_MODULE: str  # the module of Python's frames, which is no file
ERRORS: dict[str, tuple[int, str]]  # kind -> (exit status, meaning), from src/trace/base/errors.def

class Table:
    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> list[tuple[str, str]]: ...  # (name, SQL type)
    def row(self, number: int) -> dict[str, int | float | str | None]: ...
    def values(self, column: str) -> list[Any]: ...  # of one column, None where null
    def write_text(self) -> int: ...  # descriptor of a memory file; the caller closes it
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Recording:
    @property
    def warnings(self) -> list[str]: ...
    def renew(self, path: str) -> None: ...  # of_tables(), some time later
    def table(self, name: str) -> Table: ...
    def find_sites(self, depth: int) -> None: ...  # makes tables sites and stack_sites
    def line_table(self, name: str) -> Table: ...  # by line, after find_sites()
    def banded_table(self, name: str) -> Table: ...  # by line, with fewer sizes, after find_sites()
    def table_by_site(self, name: str) -> Table: ...  # site_sizes with a stack a site, after find_sites()
    @property
    def size_model(self) -> str: ...  # of the recorded allocator; empty: none is known
    def size_classes(self, model: str) -> Table: ...  # empty: the recorded allocator's
    def frames_table(self) -> Table: ...
    def frames(self, location_ids: Sequence[int]) -> list[FrameRow]: ...
    def nameless_modules(self) -> list[tuple[str, str]]: ...  # path; replaced, missing, stripped or damaged
    def stack_rows(self, stack_id: int, depth: int) -> list[int]: ...
    # of lines that name sites, after find_sites(): line, caller, bytes at the peak, blocks in all
    def line_callers(self, location_ids: Sequence[int]) -> list[tuple[int, int | None, float, float]]: ...
    # of each row: functions out, type, its size, line of its declaration (0: unknown)
    def row_types(self, location_ids: Sequence[int]) -> list[list[tuple[int, str, int, int]]]: ...
    def leaking_stacks(self) -> list[int]: ...  # ascending
    # snapshots, snapshot_blocks, snapshot_sizes and pointer_words; warnings. `suppressed`: of leaking_stacks, ascending
    def snapshot_tables(self, by_line: bool, suppressed: Sequence[int]) -> tuple[list[Table], list[str]]: ...
    def twin_tables(self, by_line: bool, progress: Callable[[int, int], None]) -> tuple[list[Table], list[str]]: ...
    # reports, amounts, sharing, pools, pool_memory, pool_blocks and claimed; warnings
    def program_tables(
        self, at_ns: int | None, reports: int | None, progress: Callable[[int, int], None]
    ) -> tuple[list[Table], list[str]]: ...
    def history_tables(self, progress: Callable[[int, int], None]) -> tuple[list[Table], list[str]]: ...
    def life_tables(self, progress: Callable[[int, int], None]) -> tuple[list[Table], list[str]]: ...
    def thread_tables(
        self, at_ns: int | None, progress: Callable[[int, int], None]
    ) -> tuple[list[Table], list[str]]: ...
    def list_blocks(self, sink: Callable[[Table], None], progress: Callable[[int, int], None]) -> None: ...

def is_own_managed(module: str, file: str, function: str) -> bool: ...  # of Python and generated code
def rows_of_stacks(recording: Recording, stack_ids: list[int]) -> list[int]: ...
def stack_texts(recording: Recording, outermost_first: bool, separator: bytes) -> StackTexts: ...
def frame_tree(recording: Recording, outermost_first: bool) -> FrameTree: ...
def varints(numbers: bytes) -> bytes: ...
def stack_sums(recording: Recording, live: str, with_lifetimes: bool) -> dict[str, bytes] | None: ...
def sample_sums(
    recording: Recording,
    live: str,
    thread_sizes: Table | None,
    thread: int,
    by_size: bool,
    tare: tuple[bytes, bytes, bytes],
) -> dict[str, bytes] | None: ...
def placed_amounts(field: int, places: list[int], amounts: list[int]) -> bytes: ...
def sums_by_place(places: bytes, numbers: bytes, count: int) -> bytes: ...
def write_numbers(
    numbers: bytes, none: int, more: int, write: Callable[[bytes], object]
) -> None: ...  # of 8 bytes each

class StackTexts:
    def name(self, location_id: int, text: bytes, innermost: bytes) -> None: ...
    def of(self, stack_ids: list[int]) -> list[bytes]: ...
    def distinct(self, stack_ids: list[int]) -> tuple[bytes, list[int]]: ...
    def messages(self, stack_ids: list[int], fields: list[int]) -> bytes: ...
    def write_rows(
        self,
        stack_ids: list[int],
        columns: list[tuple[bytes, bytes]],
        rests: list[bytes],
        before: bytes,
        after: bytes,
        write: Callable[[bytes], object],
    ) -> None: ...
    def samples(self, field: int, stack_ids: list[int], columns: list[bytes], rests: list[bytes]) -> bytes: ...

class FrameTree:
    """Arrays of numbers are bytes: 4 a number, 8 an amount."""

    def name(self, location_id: int, frames: list[int], innermost: list[int]) -> None: ...
    def add(self, stack_ids: list[int], amounts: list[int]) -> bytes: ...
    def parents(self) -> bytes: ...
    def frames(self) -> bytes: ...
    def amounts(self) -> bytes: ...
    def whole_amounts(self) -> bytes: ...
    def depth_first(self) -> bytes: ...
    def large_branches(
        self, stack_ids: list[int], amounts: list[int], least: int
    ) -> list[tuple[int, int, int, int, int]]: ...
    def write_folded(self, names: list[bytes], unknown: bytes, write: Callable[[bytes], object]) -> None: ...
    def write_nested(self, heads: list[bytes], root_head: bytes, write: Callable[[bytes], object]) -> None: ...

class ImportWriter:
    """Writes a trace event by event. Ids that don't exist and impossible sizes are errors of kind Corrupt."""

    def add_module(self, path: str, load_bias: int, start: int, end: int, build_id: bytes) -> int: ...
    def add_row(self, module: int, address: int) -> int: ...  # module 0xffff: none
    # frames: function, file, line (0: unknown); innermost first
    def add_named_row(self, module: int, address: int, frames: Sequence[tuple[str, str, int]]) -> int: ...
    def stack(self, caller: int, row: int) -> int: ...  # caller 0: the empty stack
    def shape(
        self, stack: int, api: int, align_bytes: int, requested_bytes: int, usable_bytes: int, weight: float
    ) -> int: ...
    # stamps are nanoseconds since the start; events come in their order
    def begin_block(self, stamp: int, thread: int, address: int, shape: int) -> None: ...
    def end_block(self, stamp: int, thread: int, address: int) -> None: ...
    def grow_block(self, stamp: int, thread: int, old_address: int, address: int, shape: int) -> None: ...
    def begin_some_block(self, stamp: int, thread: int, shape: int) -> None: ...  # at an address of the core's choice
    def end_some_block(self, stamp: int, thread: int, shape: int) -> None: ...  # the youngest of them
    def finish(self, end_ns: int, complete: bool, peak_rss_bytes: int) -> None: ...

def create_import(
    path: str,
    *,
    imported_from: str,
    missing_facts: str,
    exe: str,
    command_line: Sequence[str],
    pid: int,
    start_realtime_ns: int,
    aggregated: bool,
    allocator: int,
) -> ImportWriter: ...

class ZstdFile:
    def read(self) -> bytes: ...  # the next, at most 1 MiB; empty at the end

def open_zstd(path: str) -> ZstdFile: ...

class Image:
    @property
    def path(self) -> str: ...
    @property
    def program(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def file_bytes(self) -> int: ...
    @property
    def earlier_segments(self) -> int: ...  # files beside it
    @property
    def memory_kill(self) -> tuple[str, str, int, int, int, int] | None: ...  # the fields of a watch.oom.Verdict

class Outcome:
    @property
    def wait_status(self) -> int: ...
    @property
    def images(self) -> list[Image]: ...  # the latest
    @property
    def short_processes(self) -> tuple[str, int, int]: ...  # the container: path or "", traces, bytes
    @property
    def warnings(self) -> list[str]: ...
    @property
    def failure(self) -> str: ...  # empty: none

class LeftoverFolder:
    @property
    def path(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def spools(self) -> int: ...
    @property
    def launcher_lives(self) -> bool: ...
    @property
    def users(self) -> list[int]: ...  # processes that have it mapped

class Member:
    @property
    def path(self) -> str: ...  # of its trace
    @property
    def name(self) -> str: ...
    @property
    def program(self) -> str: ...
    @property
    def command(self) -> list[str]: ...
    @property
    def pid(self) -> int: ...
    @property
    def parent_pid(self) -> int: ...
    @property
    def is_forked(self) -> bool: ...  # without an exec since
    @property
    def was_replaced(self) -> bool: ...  # by exec
    @property
    def wait_status(self) -> int | None: ...
    @property
    def memory_kill(self) -> tuple[str, str, int, int, int, int] | None: ...  # the fields of a watch.oom.Verdict
    @property
    def events(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class MemberList:
    @property
    def members(self) -> list[Member]: ...
    @property
    def warnings(self) -> list[str]: ...

def list_members(path: str) -> MemberList | None: ...  # of a container; None: it is none
def other_root(pid: int) -> str: ...  # of a process in a container; empty: its files are found by their names
def find_leftover_folders(parents: Sequence[str]) -> list[LeftoverFolder]: ...
def remove_leftover_folder(path: str) -> bool: ...  # false: it stays
def run(
    command: Sequence[str],
    *,
    output: str,
    recorder_library: str,
    sample_bytes: int,
    budget: tuple[float, int, int],
    wait_for_all: bool,
    record_environment: bool,
    record_free_stacks: bool,
    record_contents: bool,
    take_snapshots: bool,
    summarize: bool,
    start_paused: bool,
    snapshot_signal: int,  # number; 0: none
    max_segment_bytes: int,  # 0: one file
    keep_segments: int,  # 0: all
    interrupted: Callable[[], bool],  # SIGINT came before the core handled signals
    allocators: bytes = b"",  # struct AllocatorTable
    progress: Callable[[int, int, int, int], None] | None,
) -> Outcome: ...
def attach(
    pid: int,
    *,
    program: str,
    output: str,
    recorder_library: str,
    sample_bytes: int,
    budget: tuple[float, int, int],
    record_free_stacks: bool,
    record_contents: bool,
    take_snapshots: bool,
    summarize: bool,
    max_segment_bytes: int,
    keep_segments: int,
    interrupted: Callable[[], bool],
    seconds: float,  # 0: until it ends, or a signal comes
) -> Outcome: ...
def open(  # outcome: of the recording that this process has just made; its tables aren't read again
    path: str,
    at_ns: int | None,
    progress: Callable[[int, int], None],
    outcome: Outcome | None = None,
    by_thread: bool = False,  # thread_tables() will be called
) -> Recording: ...
def table_schemas() -> list[
    tuple[str, str, str, bool, tuple[tuple[str, str, str], ...]]
]: ...  # name, meaning of a row, note, needs its own walk, columns: (name, type in SQL, meaning)
def of_tables(path: str) -> Recording: ...  # what the launcher of a running recording left there; the file goes
def size_models() -> list[tuple[str, str]]: ...  # name, meaning

# steps, threads, peak_requested_bytes, duration_ns, foreign_frees, reborn_blocks, calls, rewritten_blocks,
# recorded_hand_copies, hand_copies (bytes)
ScriptFacts = tuple[int, int, int, int, int, int, int, int, int, int]
# of the process: allocator, its file, peak_rss_bytes, spool_bytes, files that were loaded, what is wrong with the trace
ProcessFacts = tuple[str, str, int | None, int | None, list[str], list[str]]
ScriptRule = tuple[
    int, int, int, int, int, float
]  # size_id, remedy, group, bytes, more, share: src/allocator_replay/script/rewrite_rules.h

# Scripts: path of each and its rules. The trace is read once.
def write_call_scripts(
    trace: str, scripts: Sequence[tuple[str, Sequence[ScriptRule]]], progress: Callable[[int, int], None]
) -> tuple[list[ScriptFacts], ProcessFacts]: ...
def count_vtables(path: str, debug_dirs: Sequence[str]) -> dict[str, Any]: ...
def slot_bytes(model: str, requested_bytes: list[int]) -> list[int]: ...  # what blocks take, headers included
def cell_bytes(types: list[tuple[int, int]]) -> list[int]: ...  # of tare::gc, for objects of a size and an alignment

class Layouts:
    @property
    def table(self) -> Table: ...  # types, one row each: see src/core/types/layout_table.h
    @property
    def dwarf_path(self) -> str: ...  # the file that held the debug information
    @property
    def units(self) -> int: ...
    @property
    def definitions(self) -> int: ...  # of types, in all units
    @property
    def warnings(self) -> list[str]: ...
    def fields(  # name, type, kind, offset_bits, size_bits, align_bytes
        self, type_id: int
    ) -> list[tuple[str, str, str, int, int, int]]: ...
    def holes(self, type_id: int) -> list[tuple[int, int]]: ...  # offset_bits, size_bits
    def order(self, type_id: int) -> list[int]: ...  # of fields; empty: none is better
    def narrow_order(self, type_id: int) -> list[int]: ...  # with 4-byte pointers

def read_layouts(path: str, debug_dirs: Sequence[str], progress: Callable[[int, int], None]) -> Layouts: ...

# Values: type, text in GVariant's format, and plain data as JSON has it.
def variant_value(data: Buffer, type: str, is_big_endian: bool) -> tuple[tuple[str, str, Any], bool]: ...  # and: normal
def variant_find(
    data: Buffer, type: str, is_big_endian: bool, keys: list[str]
) -> tuple[tuple[str, str, Any] | None, str]: ...
def variant_parse(text: str, type: str, is_big_endian: bool) -> tuple[str, bytes]: ...  # empty type: inferred
def variant_normal(data: Buffer, type: str, from_big_endian: bool, to_big_endian: bool) -> bytes: ...

# key, kind, content: of a value as above, of a table such a list
def gvdb_items(data: Buffer) -> list[tuple[bytes, str, Any]]: ...
def gvdb_find(data: Buffer, keys: Sequence[str]) -> tuple[str, str, Any] | None: ...

# messages, bytes of them, what is wrong behind
def dbus_messages(data: Buffer) -> tuple[list[dict[str, Any]], int, str]: ...

# files of watched processes
def watch_facts(path: str) -> dict[str, Any]: ...  # keys: src/bindings/watch.cc; bytes are usable bytes
def watch_to_trace(path: str, out: str) -> None: ...

# src/trace/model/process_info.h: yes, likely, no or unknown
def memory_kill_certainty(of_machine: bool, direct: bool, kills: int, deaths: int) -> str: ...
