"""The recording that an import writes: modules, rows and stacks, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tare import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_MODULE = 0xFFFF
# Codes of src/trace/model/apis.def.
MALLOC, CALLOC, REALLOC, REALLOCARRAY, MEMALIGN, ALIGNED_ALLOC, POSIX_MEMALIGN, VALLOC, PVALLOC, NEW, NEW_ARRAY = range(
    1, 12
)
UNKNOWN_API = 18

# (function, file, line); "" and 0: unknown
Frame = tuple[str, str, int]


class About(NamedTuple):
    """Facts of the process. `missing`: words of tare.schema.missing."""

    source: str  # "heaptrack 1.4": the origin shown in reports
    missing: Sequence[str]
    exe: str = ""
    command: Sequence[str] = ()
    pid: int = 0
    start_realtime_ns: int = 0
    aggregated: bool = False  # blocks have weights: the source has sums instead of events
    allocator: int = 0  # as in FORMAT.md; 0: unknown


class Target:
    """open() comes first. Ids are the core's."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.events = 0  # or sums
        self.aggregated = False
        self.warnings: list[str] = []
        self.core: _core.ImportWriter
        self._files: dict[str, int] = {}
        self._rows: dict[tuple[int, int, tuple[Frame, ...]], int] = {}

    def open(self, about: About) -> None:
        self.aggregated = about.aggregated
        self.core = _core.create_import(
            self.path,
            imported_from=about.source,
            missing_facts=",".join(about.missing),
            exe=about.exe,
            command_line=list(about.command),
            pid=about.pid & 0xFFFFFFFF,
            start_realtime_ns=about.start_realtime_ns,
            aggregated=about.aggregated,
            allocator=about.allocator,
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Only of `core` before open(): the file has events before its head."""
        raise ValueError(name)

    def file_named(self, path: str) -> int:
        """A file of code of which only the name is known: its addresses have no names."""
        if not path:
            return NO_MODULE
        if path not in self._files:
            self._files[path] = self.core.add_module(path, 0, 0, 0, b"")
        return self._files[path]

    def row(self, module: int, address: int, frames: Sequence[Frame] = ()) -> int:
        """A return address; with frames (innermost first) it is named by them, else by the module's file."""
        key = (module, address, tuple(frames))
        known = self._rows.get(key)
        if known is None:
            if frames:
                known = self.core.add_named_row(module, address, list(frames))
            else:
                known = self.core.add_row(module, address)
            self._rows[key] = known
        return known

    def stack(self, rows: Sequence[int]) -> int:
        """Of rows from the leaf to the root."""
        stack = 0
        for row in reversed(rows):
            stack = self.core.stack(stack, row)
        return stack
