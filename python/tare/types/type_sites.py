"""The type that a site allocates: by the template arguments of allocating functions, by the targets of variables there, or by
the size alone; with the saving of another order of its fields for each block.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

from tare.naming.cpp_names import shorten, without_versions
from tare.types.layouts import MOVABLE, Field, Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Certainty = Literal["high", "medium", "low"]
# functions out, name without namespaces, size, line of its declaration (0: unknown)
Pointed = tuple[int, str, int, int]

# Classes and functions whose first template argument is the allocated type, one or many of it; a container's node is
# such an argument, too.
_ALLOCATING = re.compile(
    r"\b(?:allocator|__new_allocator|new_allocator|make_unique|make_unique_for_overwrite|_Sp_counted_ptr_inplace|vector)<"
)
# Smaller sizes are shared by so many types that the size proves nothing.
_TELLING_BYTES = 32
# Sizes that objects of one type may come to: with a few kinds of trailing data.
_MOST_SIZES = 4
# Smaller ones divide most sizes.
_LEAST_PART_BYTES = 16
BEFORE_MORE = "the line that allocates names it, with more bytes behind it"


class BlockType(NamedTuple):
    """The type in a block, and the certainty of that."""

    type: Type
    objects: int  # in a block
    certainty: Certainty
    by: str


class Types:
    """The types of a module, to be found by name or size."""

    def __init__(self, types: Iterable[Type]) -> None:
        self._by_name: dict[str, list[Type]] = defaultdict(list)
        self._by_size: dict[int, list[Type]] = defaultdict(list)
        # Most types of C++ have std's templates in their names, and shortening 3,000 of those took 0.15 s: only names
        # with the same beginning are shortened.
        self._of_std: dict[str, list[Type]] = defaultdict(list)
        for each in types:
            if "std::" in each.name:
                self._of_std[_head(each.name)].append(each)
            else:
                self._by_name[_plain(each.name)].append(each)
            self._by_size[each.size_bytes].append(each)

    def named(self, name: str) -> Type | None:
        """By its whole name, if only one has it."""
        if "std::" in name:
            # std::string is short for a name with another beginning
            for head in [_head(name)] if "<" in name else list(self._of_std):
                for each in self._of_std.pop(head, []):
                    self._by_name[_plain(each.name)].append(each)
        return _only(self._by_name.get(_plain(name), []))

    def in_any_scope(self, name: str) -> Type | None:
        """By its last name, if only one of the program's own types has it."""
        last = _last(name)
        return _only([
            each for every in self._by_size.values() for each in every if not each.is_system and _last(each.name) == last
        ])  # fmt: skip

    def declared(self, pointed: Pointed) -> Type | None:
        """By its last name, size and line."""
        _, name, size, line = pointed
        alike = [each for each in self._by_size.get(size, []) if not line or not each.line or each.line == line]
        return _only([each for each in alike if _last(each.name) == _last(name)])

    def only_of_size(self, size: int) -> Type | None:
        """Of the program's own, if no other type has it."""
        alike = [each for each in self._by_size.get(size, []) if not each.is_system]
        return _only(alike) if size >= _TELLING_BYTES else None


class Caller(NamedTuple):
    """A return address from the one that names the site outwards: the types that its code has pointers to."""

    pointed: Sequence[Pointed]
    types: Types


def type_of_blocks(
    functions: Sequence[str],
    callers: Sequence[Caller],
    size: int,
    sizes: Sequence[int],
    in_source: str | None = None,
    head: str | None = None,
) -> BlockType | None:
    """Of blocks of `size` bytes, one of the `sizes` of the stack. `functions` are those between the allocator and the one that
    names the site, that included, innermost first; `callers` begin with the latter's, as far as there is debug information.
    `in_source`: the type that the site's line of source names. `head`: the type that it names before more bytes.
    """
    for function in functions:
        if arguments := allocated_by(function):  # of chars or of pointers: then no other sign may say otherwise
            return _by_name(_function_of(function), arguments, size, callers[0].types) if callers else None
    if in_source is not None and callers:
        return _by_source(in_source, callers[0].types, sizes, size)
    if head is not None and callers:
        return _by_head(head, callers[0], sizes)
    # A stack with many sizes makes texts or arrays: a type of one of these sizes is a coincidence.
    typed = _by_variable(callers, size) if len(sizes) <= _MOST_SIZES else None
    typed = typed or _by_array(callers, size, sizes)
    return typed if typed is not None or len(sizes) > 1 else _by_size(callers, size)


def _by_name(function: str, arguments: Sequence[str], size: int, types: Types) -> BlockType | None:
    for argument in arguments:
        found = types.named(argument)
        fits = found is not None and size > 0 and size % found.size_bytes == 0
        if found is not None and fits and gains(found):
            return BlockType(found, size // found.size_bytes, "high", f"{function} names it")
        if (within := _held_by_node(argument, size, types)) is not None:
            return within
        if found is not None and fits:
            return BlockType(found, size // found.size_bytes, "high", f"{function} names it")
    return None


def _held_by_node(node: str, size: int, types: Types) -> BlockType | None:
    """The program's own type in a container's node, where it is the one that another order makes smaller."""
    held = [
        found
        for argument in arguments_of(node)
        for part in [argument, *arguments_of(argument)]
        if (found := types.named(re.sub(r"\bconst\b", "", part))) is not None and found.size_bytes < size
    ]
    found = _only([each for each in dict.fromkeys(held) if gains(each)])
    return None if found is None else BlockType(found, 1, "medium", f"it lies in {shorten(node)}")


def _by_source(name: str, types: Types, sizes: Sequence[int], size: int) -> BlockType | None:
    """All sizes of the stack are that of the type, or of arrays of it: otherwise the line is another's."""
    found = types.named(name) or types.in_any_scope(name)
    if found is None or size <= 0 or any(other % found.size_bytes for other in sizes):
        return None
    return BlockType(found, size // found.size_bytes, "medium", "the line that allocates names it")


def _by_head(name: str, caller: Caller, sizes: Sequence[int]) -> BlockType | None:
    """Each size has room for the type. Few lines fail that, so that a variable there must point to the type, too; otherwise it's a guess."""
    found = caller.types.named(name) or caller.types.in_any_scope(name)
    if found is None or min(sizes, default=0) < found.size_bytes:
        return None
    is_pointed = any(caller.types.declared(each) == found for each in caller.pointed)
    return BlockType(found, 1, "medium" if is_pointed else "low", BEFORE_MORE)


def _by_variable(callers: Sequence[Caller], size: int) -> BlockType | None:
    for out, caller in enumerate(callers):
        fitting = [each for each in caller.pointed if each[2] == size]
        nearest = [each for each in fitting if each[0] == min(other[0] for other in fitting)]
        found = _only([type_ for each in nearest if (type_ := caller.types.declared(each)) is not None])
        if found is not None:
            certainty: Certainty = "medium" if out == 0 else "low"
            return BlockType(found, 1, certainty, "the function there has a pointer to it, and the block its size")
    return None


def _by_array(callers: Sequence[Caller], size: int, sizes: Sequence[int]) -> BlockType | None:
    for caller in callers:
        if parts := [each for each in _parts(caller, size) if all(other % each[2] == 0 for other in sizes)]:
            found = _only([type_ for each in parts if (type_ := caller.types.declared(each)) is not None])
            by = "the function there has a pointer to it, and the block room for so many"
            return None if found is None else BlockType(found, size // found.size_bytes, "low", by)
    return None


def _parts(caller: Caller, size: int) -> list[Pointed]:
    """Types of which several may fill the block."""
    return [each for each in caller.pointed if _LEAST_PART_BYTES <= each[2] < size and size % each[2] == 0]


def _by_size(callers: Sequence[Caller], size: int) -> BlockType | None:
    """Not if the functions there have pointers to a type of which the block may be an array: in Lua a table's nodes were
    mistaken for the parser.
    """
    if not callers or any(_parts(caller, size) for caller in callers):
        return None
    found = callers[0].types.only_of_size(size)
    return None if found is None else BlockType(found, 1, "low", "no other type has the block's size")


def allocated_by(function: str) -> list[str]:
    """The type that a function allocates, by the template arguments of its own name: none without such arguments."""
    name = own_name(function)
    return [arguments[0] for match in _ALLOCATING.finditer(name) if (arguments := _split(name, match.end()))]


def own_name(function: str) -> str:
    """Without the types of its result and its parameters, which allocate nothing: `std::vector<int>::push_back`."""
    start, depth = 0, 0
    text = function.replace("(anonymous namespace)", "{anonymous}")
    end = len(text)
    for place, char in enumerate(text):
        if char in "<{[":
            depth += 1
        elif char in ">}]":
            depth -= 1
        elif char == " " and depth == 0:
            start = place + 1
        elif char == "(" and depth == 0:
            end = place
            break
    return text[start:end].replace("{anonymous}", "(anonymous namespace)")


def arguments_of(name: str) -> list[str]:
    """The template arguments of a type's name."""
    at = name.find("<")
    return _split(name, at + 1) if at >= 0 else []


def _split(text: str, at: int) -> list[str]:
    """Template arguments from behind a `<` to its `>`; none where it isn't closed."""
    parts: list[str] = []
    depth, start = 0, at
    for place in range(at, len(text)):
        char = text[place]
        if char in "<([":
            depth += 1
        elif char in ">)]":
            if depth == 0:
                return [*parts, text[start:place].strip()]
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return []


def order_text(fields: Sequence[Field], order: Sequence[int]) -> str:
    """The order of fields as a line: `next, weight, id`."""
    return ", ".join(fields[number].name or fields[number].type for number in order)


def _function_of(function: str) -> str:
    """`std::vector::push_back`: without any arguments."""
    plain, depth = [], 0
    for char in own_name(shorten(function)):
        depth += {"<": 1, ">": -1}.get(char, 0)
        if depth == 0 and char != ">":
            plain.append(char)
    return "".join(plain)


def _plain(name: str) -> str:
    """As demanglers and compilers both write it: without blanks and defaults of the standard library's templates."""
    return re.sub(r"\s+", "", shorten(name))


def _head(name: str) -> str:
    """Up to the template arguments, the same for a name and for shorter ones that still have those."""
    return without_versions(name.partition("<")[0])


def _last(name: str) -> str:
    """Without namespaces and enclosing classes, with template arguments."""
    head, bracket, tail = _plain(name).partition("<")
    return head.rpartition("::")[2] + bracket + tail


def _only(types: Sequence[Type]) -> Type | None:
    """The one of several that are the same in all that counts here."""
    distinct = {(each.name, each.size_bytes, each.reordered_bytes): each for each in types}
    return next(iter(distinct.values())) if len(distinct) == 1 else None


def gains(type_: Type) -> bool:
    """True if its own source can put it into a smaller order."""
    return type_.order_state == MOVABLE and not type_.is_system and type_.reordered_bytes < type_.size_bytes
