"""Table `type_sites` of a recording: the types of its blocks, and the saving of another order of their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare import _core
from tare.errors import TareError
from tare.naming.cpp_names import without_versions
from tare.progress import Progress, warn
from tare.types.collected_types import Collected, counted_at, find_types, in_cell, made_by
from tare.types.layouts import Field, Type, types_of
from tare.types.source_names import head_in, line_of, type_in
from tare.types.type_sites import BEFORE_MORE, BlockType, Caller, Types, allocated_by, gains, order_text, type_of_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tare.naming.names import FrameRow

    Rows = Callable[[str], list[tuple[Any, ...]]]

# A thousandth of gross, and a KiB: types of smaller sites would be read without appearing in a report.
_LEAST_SHARE = 0.001
_LEAST_BYTES = 1024
# Return addresses between the allocator and the function that names a site; more are only recursion.
_MOST_ROWS = 24
# The folders of the system's libraries: a type there with a block's size is a coincidence.
_SYSTEM = ("/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/")
_PAGE_BYTES = 4096  # the smallest growth of tare::gc's heaps
COUNTED = "the collector counted its objects"
MADE = "make() names it"
# Functions from the naming one outwards whose variables are read: a program's own xmalloc() has none, its caller has.
_ASKED_ROWS = 3


class Kind(NamedTuple):
    """A row of site_sizes."""

    size_id: int
    stack_id: int
    requested_bytes: int
    gross_bytes: int  # of a block
    peak_blocks: float
    end_blocks: float
    from_pool: bool


class Site(NamedTuple):
    """The facts about blocks in a stack."""

    functions: list[str]  # from the allocator to the one that names the site
    callers: list[
        tuple[int, str]
    ]  # return addresses from that one outwards, and each's module if it has debug information
    place: tuple[str, int]  # file and line of the one that names the site; empty and 0: unknown


class TypedKind(NamedTuple):
    kind: Kind
    typed: BlockType
    in_cell: bool = False  # of a collected heap that recorded its objects


class Weighed(NamedTuple):
    """A type by its live objects at the peak; bytes are of blocks, headers included."""

    type: Type
    objects: float
    gross_bytes: float
    saved_bytes: float  # by another order
    narrow_saved_bytes: float  # by 4-byte pointers to data in the order as it is
    narrow_reordered_saved_bytes: float  # by both
    certainty: str  # of the site with most of them
    found_by: str


class SiteLayouts:
    """The types of a recording's modules, and which of its blocks hold them."""

    def __init__(
        self,
        recording: _core.Recording,
        rows: Rows,
        amounts: Callable[[], _core.Table],
        read: dict[str, _core.Layouts | None],
        apart: set[int] | None = None,
    ) -> None:
        """`rows` answers statements about site_sizes. `amounts` makes that table. `read`: modules that were read before, None for unreadable
        ones; the others are added. `apart`: the stacks that don't stand for others, if some do."""
        self._recording = recording
        self._model = recording.size_model
        self._begun_ns = int(recording.table("process").row(0)["start_realtime_ns"] or 0)
        self.kinds = [kind for kind in _large(rows) if apart is None or kind.stack_id in apart]
        self._sizes = _sizes_of_stacks(rows, {kind.stack_id for kind in self.kinds})
        self._sites = self._find_sites()
        asked = sorted({row for site in self._sites.values() for row, _ in site.callers})
        self._pointed = dict(zip(asked, recording.row_types(asked), strict=True))
        self._layouts: list[_core.Layouts] = []
        self._types = {"": Types([])}  # by module
        modules = dict.fromkeys(module for kind in self.kinds for module in self._modules_that_may_tell(kind))
        _read_missing(modules, read)
        for path in modules:
            if (layouts := read[path]) is None:
                continue
            number = len(self._layouts)
            self._layouts.append(layouts)
            self._types[path] = Types(each._replace(binary=number) for each in types_of([layouts]))
        self._pages = [kind for kind in self.kinds if self._is_page(kind)]
        self._collected = self._find_collected(amounts) if self._pages else []

    def typed_kinds(self) -> list[TypedKind]:
        """The kinds whose type is known, certain or not."""
        found = []
        for kind in self.kinds:
            site = self._sites[kind.stack_id]
            if self._is_page(kind):  # of many types
                continue
            if kind.from_pool and (type_ := self._made_type(site)) is not None:
                found.append(TypedKind(kind, BlockType(type_, 1, "high", MADE), in_cell=True))
                continue
            callers = [
                Caller(self._pointed[row], self._types.get(module, self._types[""])) for row, module in site.callers
            ]
            line = line_of(*site.place, self._begun_ns)
            sizes = self._sizes[kind.stack_id]
            typed = type_of_blocks(site.functions, callers, kind.requested_bytes, sizes, type_in(line), head_in(line))
            if typed is not None and not self._ends_in_array(typed):
                found.append(TypedKind(kind, typed))
        return found

    def _ends_in_array(self, typed: BlockType) -> bool:
        """The bytes behind a type continue its last field, `char text[1]`: that must stay the last. A flexible array does stay."""
        if typed.by != BEFORE_MORE:
            return False
        fields, _ = self.fields_and_order(typed.type)
        last = max(fields, key=lambda each: each.offset_bits, default=None)
        return last is not None and last.kind != "flexible" and last.type.endswith("]")

    def _made_type(self, site: Site) -> Type | None:
        made = next((name for function in site.functions if (name := made_by(function)) is not None), None)
        if made is None or not site.callers:
            return None
        _, module = site.callers[0]
        return self._types.get(module, self._types[""]).named(made)

    def _modules_that_may_tell(self, kind: Kind) -> Iterator[str]:
        """Reading a module's types is expensive: those of the system's libraries are read only if a name or a variable refers
        to them.
        """
        site = self._sites[kind.stack_id]
        for out, (row, module) in enumerate(site.callers):
            is_asked = any(size == kind.requested_bytes for _, _, size, _ in self._pointed[row])
            is_home = out == 0 and (not module.startswith(_SYSTEM) or any(map(allocated_by, site.functions)))
            if module.startswith("/") and (is_asked or is_home):  # `[python]` is no file
                yield module

    def saved_bytes(self, each: TypedKind, object_bytes: int) -> int:
        """The bytes that a block with objects of that size saves: slots, or without a model the decrease of the request."""
        if each.in_cell:
            return in_cell(each.typed.type, each.kind.requested_bytes).saved_bytes(object_bytes)
        less = each.typed.objects * (each.typed.type.size_bytes - object_bytes)
        requested = each.kind.requested_bytes
        if not self._model:
            return less
        before, after = _core.slot_bytes(self._model, [requested, requested - less])
        return min(before - after, each.kind.gross_bytes)

    def _is_page(self, kind: Kind) -> bool:
        """Of a collected heap: a pool's blocks of whole pages, made by the collector. In folded stacks make() is the innermost that
        is left, and an inlined function's name has no namespace."""
        if not kind.from_pool or kind.requested_bytes % _PAGE_BYTES != 0:
            return False
        functions = map(without_versions, self._sites[kind.stack_id].functions)
        return any("tare::gc::" in each or each.startswith("make<") for each in functions)

    def _find_collected(self, amounts: Callable[[], _core.Table]) -> list[Collected]:
        table = amounts()
        reported = zip(*(table.values(name) for name in ("path", "time_ns", "reported_bytes")), strict=True)
        peak_ns = self._recording.table("process").row(0)["peak_time_ns"]
        return find_types(counted_at(reported, int(peak_ns or 0)), list(self._types.values()))

    def weigh(self) -> list[Weighed]:
        """Each type that blocks or collected heaps are known to hold, by the saving of another order at the peak."""
        by_type: dict[tuple[object, ...], list[TypedKind]] = {}
        for each in self.typed_kinds():
            by_type.setdefault(each.typed.type[1:-1], []).append(each)  # wherever it was read
        weighed = [self._weigh(kinds[0].typed.type, kinds) for kinds in by_type.values()]
        weighed += [_weigh_collected(each) for each in self._collected]
        return sorted(weighed, key=lambda each: (-each.saved_bytes, -each.gross_bytes, each.type.name))

    def _weigh(self, type_: Type, kinds: Sequence[TypedKind]) -> Weighed:
        def at_peak(of: Callable[[TypedKind], float]) -> float:
            return sum(each.kind.peak_blocks * of(each) for each in kinds)

        most = max(kinds, key=lambda each: each.kind.peak_blocks * each.kind.gross_bytes)
        return Weighed(
            type_,
            at_peak(lambda each: each.typed.objects),
            at_peak(lambda each: each.kind.gross_bytes),
            at_peak(lambda each: self.saved_bytes(each, type_.reordered_bytes)) if gains(type_) else 0.0,
            at_peak(lambda each: self.saved_bytes(each, type_.narrow_bytes)),
            at_peak(lambda each: self.saved_bytes(each, type_.narrow_reordered_bytes)),
            most.typed.certainty,
            most.typed.by,
        )

    def fields_and_order(self, type_: Type) -> tuple[list[Field], list[int]]:
        """The fields, and their numbers in the order that takes least; that is empty where none is better."""
        layouts = self._layouts[type_.binary]
        return [Field(*field) for field in layouts.fields(type_.type_id)], layouts.order(type_.type_id)

    def order_of(self, type_: Type) -> str:
        return order_text(*self.fields_and_order(type_))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """As tare.schema has them."""
        for each in self.typed_kinds():
            type_ = each.typed.type
            saved = self.saved_bytes(each, type_.reordered_bytes) if gains(type_) else 0
            yield (
                each.kind.size_id,
                each.kind.stack_id,
                type_.name,
                type_.file or "",
                type_.line,
                type_.size_bytes,
                type_.reordered_bytes if gains(type_) else type_.size_bytes,
                each.typed.objects,
                saved,
                self.order_of(type_) if saved else "",
                each.typed.certainty,
                each.typed.by,
            )
        yield from self._rows_of_pages()

    def _rows_of_pages(self) -> Iterator[tuple[Any, ...]]:
        """The saving of collected types is spread over the pages at the peak, because the page of each object is unknown."""
        for each in self._collected:
            saved = each.saved_bytes(each.type.reordered_bytes) if gains(each.type) else 0
            kinds = [kind for kind in self._pages if kind.requested_bytes == each.page_bytes]
            pages = sum(kind.peak_blocks for kind in kinds)
            if not pages or saved < pages:
                continue
            for kind in kinds:
                yield (
                    kind.size_id,
                    kind.stack_id,
                    each.type.name,
                    each.type.file or "",
                    each.type.line,
                    each.type.size_bytes,
                    each.type.reordered_bytes,
                    max(1, round(each.objects / pages)),
                    min(int(saved / pages), kind.gross_bytes),
                    self.order_of(each.type),
                    "high",
                    COUNTED,
                )

    def _find_sites(self) -> dict[int, Site]:
        stacks = {
            stack: self._recording.stack_rows(stack, _MOST_ROWS) for stack in {kind.stack_id for kind in self.kinds}
        }
        frames: dict[int, list[FrameRow]] = {}
        for frame in self._recording.frames(sorted({row for rows in stacks.values() for row in rows})):
            frames.setdefault(frame[0], []).append(frame)
        return {stack: _site(rows, frames) for stack, rows in stacks.items()}


def _weigh_collected(each: Collected) -> Weighed:
    return Weighed(
        each.type,
        each.objects,
        each.cell_bytes,
        each.saved_bytes(each.type.reordered_bytes) if gains(each.type) else 0,
        each.saved_bytes(each.type.narrow_bytes),
        each.saved_bytes(each.type.narrow_reordered_bytes),
        "high",
        COUNTED,
    )


def _read_missing(modules: Iterable[str], read: dict[str, _core.Layouts | None]) -> None:
    with Progress("reading types") as progress:
        for path in modules:
            if path in read:
                continue
            try:
                read[path] = _core.read_layouts(
                    path, [], lambda done, total: progress.update(done / total if total else -1)
                )
            except TareError as error:  # the others' types are there to ask
                read[path] = None
                warn(error.message)


def _large(rows: Rows) -> list[Kind]:
    """A recording may have millions of kinds, of which these are a few hundred."""
    gross = "(usable_bytes + header_bytes)"
    least = {
        when: f"(select greatest({_LEAST_BYTES}, {_LEAST_SHARE} * sum({gross} * {when})) from site_sizes)"
        for when in ("peak_blocks", "end_blocks")
    }
    shown = " or ".join(f"{gross} * {when} >= {bound}" for when, bound in least.items())
    found = rows(
        f"select size_id, stack_id, requested_bytes, {gross}, peak_blocks, end_blocks, api = 'pool block' from site_sizes"
        f" where api <> 'pool memory' and ({shown}) order by size_id"
    )
    return [Kind(*row) for row in found]


def _sizes_of_stacks(rows: Rows, stacks: Iterable[int]) -> dict[int, list[int]]:
    """The requested sizes of each stack, ascending, each once."""
    asked: dict[int, list[int]] = {stack: [] for stack in stacks}
    if asked:
        listed = ", ".join(map(str, asked))
        for stack, requested in rows(
            "select distinct stack_id, requested_bytes from site_sizes"
            f" where api <> 'pool memory' and stack_id in ({listed}) order by 1, 2"
        ):
            asked[stack].append(requested)
    return asked


def _site(rows: Sequence[int], frames: dict[int, list[FrameRow]]) -> Site:
    functions: list[str] = []
    for place, row in enumerate(rows):
        at_row = [function for _, _, function, *_ in frames.get(row, [])]
        wrappers = [is_wrapper for *_, is_wrapper in frames.get(row, [])]
        if not at_row or wrappers[-1]:  # the function that the code belongs to comes last
            functions += at_row
            continue
        passing = next((n for n, is_wrapper in enumerate(wrappers) if not is_wrapper), len(at_row) - 1)
        # Only with debug information of the recorded build a file is known.
        callers = [
            (each, next((module for *_, file, _, module, _, _ in frames.get(each, []) if file), ""))
            for each in rows[place : place + _ASKED_ROWS]
        ]
        named = frames[row][passing]
        return Site(functions + at_row[: passing + 1], callers, (named[4], named[5] or 0))
    return Site(functions, [], ("", 0))
