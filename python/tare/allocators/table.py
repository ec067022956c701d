"""Descriptions as the table that recorders read: struct AllocatorTable of src/trace/spool/allocator_table.h."""

from __future__ import annotations

import struct
from pathlib import Path

from tare.allocators.description import ARGUMENTS, MODULES, ROLES, Allocator, Function, parse
from tare.errors import USAGE, TareError

_MAGIC = b"TAREALC\n"
_VERSION = 2
_MOST_ALLOCATORS = 32
_MOST_FUNCTIONS = 320
_HEADER = struct.Struct("=8sIIII")
_ALLOCATOR = struct.Struct("=32s64s64sB7x")
_FUNCTION = struct.Struct("=64sBBbbbbbbBB6x")
_LIBRARY = len(MODULES)


def shipped() -> list[Allocator]:
    """Those of the package; a program's own malloc first, for other descriptions know it under other names."""
    files = sorted(Path(__file__).parent.glob("*.toml"), key=lambda file: (file.stem != "own_malloc", file.stem))
    return [each for file in files for each in parse(file.read_text(encoding="utf-8"), str(file), required=False)]


def given(path: str) -> list[Allocator]:
    """A user's own."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise TareError(USAGE, f"can't read the description {path}: {reason}") from None
    return parse(text, path, required=True)


def packed(allocators: list[Allocator]) -> bytes:
    """The whole struct."""
    functions = [(index, function) for index, each in enumerate(allocators) for function in each.functions]
    if len(allocators) > _MOST_ALLOCATORS or len(functions) > _MOST_FUNCTIONS:
        raise TareError(
            USAGE, f"too many descriptions: at most {_MOST_ALLOCATORS} allocators and {_MOST_FUNCTIONS} functions"
        )
    allocator_bytes = b"".join(map(_allocator, allocators)).ljust(_MOST_ALLOCATORS * _ALLOCATOR.size, b"\0")
    function_bytes = b"".join(_function(*each) for each in functions).ljust(_MOST_FUNCTIONS * _FUNCTION.size, b"\0")
    whole = _HEADER.size + len(allocator_bytes) + len(function_bytes)
    header = _HEADER.pack(_MAGIC, _VERSION, whole, len(allocators), len(functions))
    return header + allocator_bytes + function_bytes


def _allocator(each: Allocator) -> bytes:
    is_library = each.module not in MODULES
    module = _LIBRARY if is_library else MODULES.index(each.module)
    return _ALLOCATOR.pack(
        each.name.encode(), each.module.encode() if is_library else b"", each.current.encode(), module
    )


def _function(allocator: int, each: Function) -> bytes:
    arguments = [each.arguments.get(name, -1) for name in ARGUMENTS]
    return _FUNCTION.pack(
        each.symbol.encode(), allocator, ROLES.index(each.role), *arguments, each.zeroed, each.required
    )
