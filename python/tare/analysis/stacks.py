"""The stacks of an export as the core writes them: texts of a format's own making, or one tree of frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from tare.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tare.analysis.recording import Recording
    from tare.naming.names import Frame, FrameTree, StackTexts


Key = TypeVar("Key")


class Branch(NamedTuple):
    """A node of a tree with all below it."""

    amount: int
    small_amount: int
    small_branches: int  # below it, each too small for the list
    parent: int  # its place in the list
    frame: int


class Tree(Generic[Key]):
    """By node; the root is node 0, whose frame means nothing, and parents come before their children."""

    def __init__(self, made: FrameTree, keys: list[Key]) -> None:
        self._made = made
        self.keys = keys  # by number of a frame

    def add(self, stack_ids: list[int], amounts: list[int]) -> Sequence[int]:
        """The stacks' nodes."""
        return memoryview(self._made.add(stack_ids, amounts)).cast("I")

    @property
    def parents(self) -> Sequence[int]:
        return memoryview(self._made.parents()).cast("I")

    @property
    def frames(self) -> Sequence[int]:
        """Numbers of frames."""
        return memoryview(self._made.frames()).cast("I")

    @property
    def amounts(self) -> Sequence[int]:
        return memoryview(self._made.amounts()).cast("q")

    @property
    def whole_amounts(self) -> Sequence[int]:
        """With those of all nodes below."""
        return memoryview(self._made.whole_amounts()).cast("q")

    def large_branches(self, stack_ids: list[int], amounts: list[int], least: int) -> list[Branch]:
        """Of the tree that these stacks would make: the root, and each node with so much. It isn't made."""
        return [Branch(*row) for row in self._made.large_branches(stack_ids, amounts, least)]

    def write_folded(self, names: list[bytes], unknown: bytes, write: Callable[[bytes], object]) -> None:
        """`main;parse;grow 4096`, a line for each node with an amount. `names`: by number of a frame."""
        self._made.write_folded(names, unknown, write)

    def write_nested(self, heads: list[bytes], root_head: bytes, write: Callable[[bytes], object]) -> None:
        """V8's nodes, each with its children. `heads`: the beginning of a node's object, by number of a frame."""
        self._made.write_nested(heads, root_head, write)


class Stacks:
    """Names are looked up once, for all rows in one batch. A stack without frames has the frame `(unknown)`."""

    def __init__(self, recording: Recording, stack_ids: Sequence[int]) -> None:
        self._names, self._source = recording.names, recording.source
        with Progress("looking up names"):
            self.rows = self._source.rows_of_stacks(stack_ids)
            self._names.prepare(self.rows)

    def texts(self, text: Callable[[Sequence[Frame]], bytes], separator: bytes, *, outermost_first: bool) -> StackTexts:
        """`text` gets the frames of one row in the order of the stack."""
        made = self._source.stack_texts(outermost_first, separator)
        step = -1 if outermost_first else 1
        for row in self.rows:
            frames = self._names.frames(row)
            innermost = self._names.callers(row)
            whole = text(frames[::step])
            made.name(row, whole, whole if len(innermost) == len(frames) else text(innermost[::step]))
        return made

    def row_texts(self, text: Callable[[int], bytes], *, outermost_first: bool) -> StackTexts:
        """Of formats whose frames are rows: `text` gets a row's number."""
        made = self._source.stack_texts(outermost_first, b"")
        for row in self.rows:
            made.name(row, text(row), text(row))
        return made

    def tree(self, key: Callable[[Frame], Key], *, outermost_first: bool) -> Tree[Key]:
        """Frames of one key are one frame."""
        made = self._source.frame_tree(outermost_first)
        numbers: dict[Key, int] = {}
        for row in self.rows:
            every, innermost = (
                [numbers.setdefault(key(frame), len(numbers)) for frame in frames]
                for frames in (self._names.frames(row), self._names.callers(row))
            )
            made.name(row, every, innermost)
        return Tree(made, list(numbers))


class FrameNumbers:
    """Frames by number, in the order in which they were first met."""

    def __init__(self) -> None:
        self.frames: dict[Frame, int] = {}

    def __call__(self, frame: Frame) -> int:
        return self.frames.setdefault(frame, len(self.frames))
