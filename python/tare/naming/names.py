"""Names for addresses: function, file and line of a stack's frames, looked up only if they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.naming.cpp_names import shorten
from tare.schema.missing import MOST_OFFSET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    class StackTexts(Protocol):
        """Stacks as the joined texts of their rows."""

        def name(self, location_id: int, text: bytes, innermost: bytes) -> None:
            """A row's text, and its text as the innermost row of a stack."""

        def of(self, stack_ids: list[int]) -> list[bytes]:
            """The stacks' texts."""

        def distinct(self, stack_ids: list[int]) -> tuple[bytes, list[int]]:
            """For each stack the place of its text among all texts, 4 bytes each; and the first stack of each text."""

        def messages(self, stack_ids: list[int], fields: list[int]) -> bytes:
            """Messages of protocol buffers: the first field holds a message of the second, and so on; the last one the stack's text."""

        def write_rows(
            self,
            stack_ids: list[int],
            columns: list[tuple[bytes, bytes]],
            rests: list[bytes],
            before: bytes,
            after: bytes,
            write: Callable[[bytes], object],
        ) -> None:
            """A row a stack, in pieces, with commas between: of each column a text and the stack's number (8 bytes each); a rest, if there
            are any; `before`, the stack's text, and `after`."""

        def samples(self, field: int, stack_ids: list[int], columns: list[bytes], rests: list[bytes]) -> bytes:
            """Fields of a message of protocol buffers: each is a message of a stack's text (field 1), its number of each column (8 bytes
            each; packed, field 2) and a rest that is written already."""

    class FrameTree(Protocol):
        """Stacks with amounts as one tree of numbered frames. Arrays are of 4 bytes a number, amounts of 8."""

        def name(self, location_id: int, frames: list[int], innermost: list[int]) -> None:
            """A row's frames, innermost first, and its frames as the innermost row of a stack."""

        def add(self, stack_ids: list[int], amounts: list[int]) -> bytes:
            """The stacks' nodes."""

        def parents(self) -> bytes: ...
        def frames(self) -> bytes: ...
        def amounts(self) -> bytes: ...
        def whole_amounts(self) -> bytes:
            """With those of all nodes below."""

        def large_branches(
            self, stack_ids: list[int], amounts: list[int], least: int
        ) -> list[tuple[int, int, int, int, int]]:
            """The nodes of the tree that these stacks would make, if they have so much with all below: this amount, amount and number
            of the children that have less, the parent's place in the list, the frame. The root comes first."""

        def depth_first(self) -> bytes:
            """All nodes, each before its children."""

        def write_folded(self, names: list[bytes], unknown: bytes, write: Callable[[bytes], object]) -> None:
            """The tree as folded stacks, in pieces."""

        def write_nested(self, heads: list[bytes], root_head: bytes, write: Callable[[bytes], object]) -> None:
            """The tree as V8's heap profile has it, in pieces."""

    # (location_id, inline_depth, function, mangled, file, line, module path, module_offset, is_wrapper); "" and None: unknown
    FrameRow = tuple[int, int, str, str, str, int | None, str, int | None, bool]

    class NameSource(Protocol):
        """A source of stacks and names: the core for a trace, a test by hand."""

        def stack_rows(self, stack_id: int, depth: int) -> list[int]:
            """Row ids of a stack, innermost first, at most `depth`."""

        def rows_of_stacks(self, stack_ids: Sequence[int]) -> list[int]:
            """Row ids that occur in the stacks, each once."""

        def stack_sums(self, live: str, with_lifetimes: bool) -> dict[str, bytes] | None:
            """Sums of site_sizes by stack, 8 bytes a number; `live` is the column of blocks in use. None: only SQL has them."""

        def sample_sums(
            self, live: str, with_threads: bool, by_size: bool, tare: tuple[bytes, bytes, bytes]
        ) -> dict[str, bytes] | None:
            """The same by stack, thread (-1: unknown) and, if requested, usable size. `tare`: stacks, usable sizes and bytes of claims."""

        def stack_texts(self, outermost_first: bool, separator: bytes) -> StackTexts:
            """For all stacks; no row has a name yet."""

        def frame_tree(self, outermost_first: bool) -> FrameTree:
            """Without stacks; the outermost or the innermost frames are at its root. No row has a name yet."""

        def frames(self, location_ids: Sequence[int]) -> list[FrameRow]:
            """The frames at return addresses, innermost first of each."""

        def nameless_modules(self) -> list[tuple[str, str]]:
            """Files of code of which nothing has a name, and why: replaced, missing, stripped or damaged."""


class Frame(NamedTuple):
    function: str  # empty: unknown
    mangled: str
    file: str  # empty: unknown
    line: int | None
    module: str
    module_offset: int | None
    address: int | None = None  # instead of the offset, if the start of the file of code isn't known

    @property
    def name(self) -> str:
        """The function, or where nothing better is certain the file of code and the offset in it."""
        if self.function:
            return self.function
        if self.address is not None:
            return f"{self.address:#x}"
        if self.module:
            base = self.module.rpartition("/")[2]
            return f"{base}+{self.module_offset:#x}" if self.module_offset is not None else base
        return "(unknown)"

    @property
    def place(self) -> str:
        """`file.c:12`, with the file's last part only; empty where unknown."""
        if not self.file:
            return ""
        base = self.file.rpartition("/")[2]
        return f"{base}:{self.line}" if self.line else base

    @property
    def reads(self) -> tuple[str, str, str]:
        """Equal for frames that look the same in a report."""
        return self.module, self.file, str(self)

    def __str__(self) -> str:
        return f"{self.name} ({self.place})" if self.place else self.name


UNKNOWN = Frame("", "", "", None, "", None)


class Names:
    """Caches names, and looks them up in batches, because the symbolizer walks a compilation unit once a batch."""

    def __init__(self, source: NameSource) -> None:
        self._source = source
        self._frames: dict[int, list[Frame]] = {}
        self.wrappers: set[Frame] = set()  # allocation wrappers, of all rows that were looked up
        self._wrappers: dict[int, int] = {}  # by row: how many of its innermost frames are allocation wrappers
        self._stacks: dict[tuple[int, int], list[int]] = {}

    def prepare(self, location_ids: Iterable[int]) -> None:
        missing = sorted({row for row in location_ids if row not in self._frames})
        if not missing:
            return
        for row in missing:
            self._frames[row] = []
            self._wrappers[row] = 0
        for row, _, function, mangled, file, line, module, offset, is_wrapper in self._source.frames(missing):
            frames = self._frames[row]
            if is_wrapper and self._wrappers[row] == len(frames):
                self._wrappers[row] += 1
            frame = Frame(shorten(function), mangled, file, line, module, offset)
            if offset is not None and offset >= MOST_OFFSET:
                frame = frame._replace(module_offset=None, address=offset)
            if is_wrapper:
                self.wrappers.add(frame)
            frames.append(frame)
        for row in missing:
            if not self._frames[row]:
                self._frames[row] = [UNKNOWN]

    def prepare_stacks(self, stack_ids: Iterable[int], depth: int) -> None:
        self.prepare(row for stack_id in stack_ids for row in self.rows(stack_id, depth))

    def stack(self, stack_id: int, depth: int) -> list[Frame]:
        """Innermost first; an inlined function is a frame of its own. At most `depth` return addresses."""
        rows = self.rows(stack_id, depth)
        self.prepare(rows)
        return [frame for row in rows[:1] for frame in self.callers(row)] + [
            frame for row in rows[1:] for frame in self._frames[row]
        ]

    def frames(self, location_id: int) -> list[Frame]:
        """All frames at a return address, innermost first, allocation wrappers among them."""
        if location_id not in self._frames:
            self.prepare((location_id,))
        return self._frames[location_id]

    def at(self, location_id: int | None) -> Frame:
        """The function that names a site: the innermost at its return address that isn't an allocation wrapper."""
        if location_id is None:  # an empty stack
            return UNKNOWN
        self.prepare((location_id,))
        return self.callers(location_id)[0]

    def callers(self, location_id: int) -> list[Frame]:
        """A site's own frames without wrappers inlined into them (std::allocator::allocate into main)."""
        frames = self._frames[location_id]
        return frames[min(self._wrappers[location_id], len(frames) - 1) :]

    def rows(self, stack_id: int, depth: int) -> list[int]:
        """Return addresses of a stack, innermost first."""
        key = (stack_id, depth)
        if key not in self._stacks:
            self._stacks[key] = self._source.stack_rows(stack_id, depth)
        return self._stacks[key]
