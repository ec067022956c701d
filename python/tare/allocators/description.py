"""One description of an allocator, read from TOML and checked: every mistake is one line that names file and function."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from tare.errors import USAGE, TareError

ROLES = (
    "allocate",
    "allocate into",
    "free",
    "resize",
    "usable bytes",
    "create pool",
    "reset pool",
    "clear pool",
    "destroy pool",
    "move pool",
)
ARGUMENTS = ("size", "count", "align", "pointer", "pool", "parent")
SIZE_OF_STRING = -2
MODULES = ("program", "malloc")
_MOST_ARGUMENTS = 6  # those in registers
_MOST_SYMBOL_BYTES = 63
_MOST_NAME_BYTES = 31
# Which arguments a role needs, and which it may have beside them.
_NEEDED = {
    "allocate into": {"pointer", "size"},
    "free": {"pointer"},
    "resize": {"pointer", "size"},
    "reset pool": {"pool"},
    "clear pool": {"pool"},
    "destroy pool": {"pool"},
    "move pool": {"pool", "parent"},
}
_ALLOWED = {
    "allocate": {"size", "count", "align", "pool"},
    "allocate into": {"pointer", "size", "align", "pool"},
    "free": {"pointer"},
    "resize": {"pointer", "size", "count", "align", "pool"},
    "usable bytes": set[str](),
    "create pool": {"pool", "pointer", "parent"},
    "reset pool": {"pool"},
    "clear pool": {"pool"},
    "destroy pool": {"pool"},
    "move pool": {"pool", "parent"},
}


class Function(NamedTuple):
    symbol: str
    role: str
    arguments: dict[str, int]
    zeroed: bool
    required: bool  # a user has described it: that it is missing is reported


class Allocator(NamedTuple):
    name: str
    module: str  # of MODULES, or how the file name of a library begins
    current: str  # the variable that contains the current pool; empty: none
    functions: list[Function]


def parse(text: str, path: str, *, required: bool) -> list[Allocator]:
    """The allocators of one file: one for each prefix of its functions' names."""
    if sys.version_info >= (3, 11):  # here, because `tare run` must start fast
        import tomllib
    else:
        import tomli as tomllib

    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TareError(USAGE, f"{path}: not TOML: {error}") from None
    unknown = sorted(set(tree) - {"name", "in", "prefixes", "current", "functions"})
    if unknown:
        raise TareError(
            USAGE, f"{path}: unknown key {unknown[0]!r}: there are name, in, prefixes, current and functions"
        )
    name = _text(tree.get("name"), path, "name", _MOST_NAME_BYTES)
    module = _text(tree.get("in", "program"), path, "in", _MOST_SYMBOL_BYTES)
    current = _text(tree["current"], path, "current", _MOST_SYMBOL_BYTES) if "current" in tree else ""
    prefixes = tree.get("prefixes", [""])
    functions = tree.get("functions")
    if not isinstance(prefixes, list) or not prefixes or not all(isinstance(prefix, str) for prefix in prefixes):
        raise TareError(USAGE, f'{path}: prefixes needs a list of texts, such as ["je_", "_rjem_"]')
    if not isinstance(functions, dict) or not functions:
        raise TareError(USAGE, f"{path}: missing table [functions]: it names the functions that allocate and free")
    described = [_function(symbol, facts, path) for symbol, facts in functions.items()]
    _check_roles(described, current, path)
    return [
        Allocator(
            name,
            module,
            current,
            [
                function._replace(symbol=_symbol(prefix + function.symbol, path), required=required)
                for function in described
            ],
        )
        for prefix in prefixes
    ]


def _check_roles(functions: list[Function], current: str, path: str) -> None:
    roles = {function.role for function in functions}
    if not roles & {"free", "destroy pool"} or not roles & {"allocate", "allocate into"}:
        raise TareError(USAGE, f"{path}: [functions] needs one that allocates and one that frees or destroys pools")
    has_pools = any(role.endswith("pool") for role in roles)
    names_pool = current or any("pool" in function.arguments for function in functions)
    if has_pools and "create pool" not in roles:
        raise TareError(USAGE, f"{path}: [functions] needs one that creates pools, as others end or move them")
    if names_pool and not has_pools:
        raise TareError(USAGE, f"{path}: [functions] needs those that create and destroy pools, as others have a pool")


def _text(value: object, path: str, key: str, most: int) -> str:
    if not isinstance(value, str) or not value or len(value.encode()) > most or not value.isprintable():
        raise TareError(USAGE, f"{path}: {key} needs a text of 1 to {most} bytes, without control characters")
    return value


def _symbol(symbol: str, path: str) -> str:
    if not 0 < len(symbol.encode()) <= _MOST_SYMBOL_BYTES:
        raise TareError(USAGE, f"{path}: a function's name has 1 to {_MOST_SYMBOL_BYTES} bytes: {symbol!r}")
    if not symbol.isprintable():  # messages have it
        raise TareError(USAGE, f"{path}: a function's name has no control characters: {symbol!r}")
    return symbol


def _function(symbol: str, facts: Any, path: str) -> Function:
    def wrong(text: str) -> TareError:
        return TareError(USAGE, f"{path}: function {symbol if symbol.isprintable() else repr(symbol)}: {text}")

    if not isinstance(facts, dict) or facts.get("does") not in ROLES:
        raise wrong(f"'does' needs one of: {', '.join(ROLES)}")
    role = facts["does"]
    zeroed = facts.get("zeroed", False)
    if not isinstance(zeroed, bool):
        raise wrong("zeroed is true or false")
    arguments = {key: value for key, value in facts.items() if key not in ("does", "zeroed")}
    for key, value in arguments.items():
        if key not in _ALLOWED[role]:
            raise wrong(f"'{role}' has no argument {key!r}")
        if key == "size" and value == "string" and role == "allocate":
            arguments[key] = SIZE_OF_STRING
            continue
        if type(value) is not int or not 0 <= value < _MOST_ARGUMENTS:
            raise wrong(f"{key} needs the number of an argument, 0 to {_MOST_ARGUMENTS - 1}: {value}")
    if missing := sorted(_NEEDED.get(role, set()) - set(arguments)):
        raise wrong(f"'{role}' needs the number of argument '{missing[0]}'")
    if len(set(arguments.values())) < len(arguments):
        raise wrong("two arguments have the same number")
    return Function(symbol, role, arguments, zeroed, required=False)
