"""The meaning of a C++ type for the collector: a pointer that trace() must name, a root, an unscanned place."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from tare.naming.cpp_names import without_versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clang.cindex import Cursor, Type

_NAMESPACE = "tare::gc::"
_CONTAINERS = frozenset({"HeapDeque", "HeapHashMap", "HeapHashSet"})
_ROOTS = frozenset({"Root", "CrossThreadRoot"})
_BASES = frozenset({"GarbageCollectedBase", "GarbageCollectedMixin"})
_OWNERS = frozenset({"unique_ptr", "shared_ptr", "weak_ptr"})
# Types of the standard library that tare/gc/trace_std.h traces, in the object itself.
_TRACED_STD = frozenset({"optional", "variant", "pair", "array"})


class Role(Enum):
    """The meaning of a field."""

    TRACED = auto()  # trace() must name it
    UNTRACED = auto()  # on purpose
    ROOT = auto()  # keeps its object from outside
    HIDDEN = auto()  # holds Members that aren't found
    RAW = auto()  # a plain pointer or reference to a collected object
    PLAIN = auto()  # nothing to the collector


class Meaning(NamedTuple):
    role: Role
    what: str = ""  # the type that makes it so, as one reads it


def qualified_name(cursor: Cursor) -> str:
    """`tare::gc::VectorBy`, without inline namespaces' versions and template arguments."""
    parts: list[str] = []
    while cursor is not None and cursor.kind.name != "TRANSLATION_UNIT":
        if cursor.spelling and not cursor.spelling.startswith("__"):
            parts.append(cursor.spelling)
        cursor = cursor.semantic_parent
    return without_versions("::".join(reversed(parts)))


def record_of(type_: Type) -> Cursor | None:
    """The class or class template that a type is of."""
    declaration = type_.get_canonical().get_declaration()
    return (
        declaration if declaration.kind.name in ("CLASS_DECL", "STRUCT_DECL", "UNION_DECL", "CLASS_TEMPLATE") else None
    )


def definition_of(cursor: Cursor) -> Cursor:
    """The class' definition; of a template's instance the template's, where its members were written."""
    from clang import cindex

    template = cindex.conf.lib.clang_getSpecializedCursorTemplate(cursor)
    if template is not None and template.kind.name in ("CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"):
        cursor = template
    return cursor.get_definition() or cursor


def bases_of(cursor: Cursor) -> Iterator[Cursor]:
    for child in definition_of(cursor).get_children():
        if child.kind.name == "CXX_BASE_SPECIFIER":
            base = record_of(child.type)
            if base is not None:
                yield base


def is_collected(cursor: Cursor, seen: frozenset[str] = frozenset()) -> bool:
    """True if objects of the class are collected, or may be part of one as a mixin."""
    name = qualified_name(cursor)
    if name.removeprefix(_NAMESPACE) in _BASES and name.startswith(_NAMESPACE):
        return True
    usr = definition_of(cursor).get_usr()
    return usr not in seen and any(is_collected(base, seen | {usr}) for base in bases_of(cursor))


def is_library_class(cursor: Cursor) -> bool:
    return qualified_name(cursor).startswith(_NAMESPACE)


def fields_of(cursor: Cursor) -> list[Cursor]:
    return [child for child in definition_of(cursor).get_children() if child.kind.name == "FIELD_DECL"]


def methods_of(cursor: Cursor, name: str) -> list[Cursor]:
    return [
        child
        for child in definition_of(cursor).get_children()
        if child.kind.name in ("CXX_METHOD", "FUNCTION_TEMPLATE") and child.spelling == name
    ]


def traces_of(cursor: Cursor) -> list[Cursor]:
    """The class' own trace(), which takes a Visitor."""
    return [
        method
        for method in methods_of(cursor, "trace")
        if any("Visitor" in child.type.spelling for child in method.get_children() if child.kind.name == "PARM_DECL")
    ]


def arguments_of(type_: Type) -> list[Type]:
    """A template instance's arguments that are types."""
    count = type_.get_num_template_arguments()
    found = [type_.get_template_argument_type(i) for i in range(max(count, 0))]
    return [each for each in found if each.kind.name != "INVALID"]


def meaning_of(type_: Type, depth: int = 0) -> Meaning:
    """The meaning of a field of this type."""
    plain = Meaning(Role.PLAIN)
    if depth > 8:
        return plain
    canonical = type_.get_canonical()
    kind = canonical.kind.name
    if kind in ("POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE"):
        record = record_of(canonical.get_pointee())
        if record is not None and is_collected(record) and not is_library_class(record):
            return Meaning(Role.RAW, canonical.get_pointee().spelling.removeprefix("const "))
        return plain
    if kind in ("CONSTANTARRAY", "INCOMPLETEARRAY", "DEPENDENTSIZEDARRAY"):
        return meaning_of(canonical.element_type, depth + 1)
    record = record_of(canonical)
    if record is None:
        return _by_spelling(type_.spelling)
    name = qualified_name(record)
    if name.startswith(_NAMESPACE):
        return _library_meaning(name.removeprefix(_NAMESPACE), canonical)
    if name.startswith("std::"):
        return _std_meaning(name.removeprefix("std::"), type_, canonical, depth)
    return _class_meaning(record, depth)


def _library_meaning(name: str, type_: Type) -> Meaning:
    spelling = without_versions(type_.spelling)
    if name == "BasicMember":
        untraced = "Strength::Untraced" in spelling or ", 2>" in spelling
        return Meaning(Role.UNTRACED if untraced else Role.TRACED, "Member")
    if name == "UncompressedMember":
        return Meaning(Role.TRACED, name)
    if name == "VectorBy":
        if "tare::gc::Root<" in spelling:
            return Meaning(Role.ROOT, "RootedVector")
        return Meaning(Role.TRACED, "HeapVector")
    if name in _CONTAINERS:
        return Meaning(Role.TRACED, name)
    if name in _ROOTS:
        return Meaning(Role.PLAIN if "RootKind::Weak" in spelling else Role.ROOT, "Persistent")
    return Meaning(Role.PLAIN)


def _std_meaning(name: str, type_: Type, canonical: Type, depth: int) -> Meaning:
    arguments = arguments_of(canonical)
    shown = type_.spelling
    if name in _OWNERS and arguments:
        record = record_of(arguments[0])
        if record is not None and is_collected(record):
            return Meaning(Role.RAW, shown)
    inner = [meaning_of(argument, depth + 1) for argument in arguments]
    if name in _TRACED_STD:
        for role in (Role.HIDDEN, Role.TRACED, Role.RAW, Role.ROOT):
            for meaning in inner:
                if meaning.role is role:
                    return meaning if role is not Role.TRACED else Meaning(role, shown)
        return Meaning(Role.PLAIN)
    if any(meaning.role in (Role.TRACED, Role.HIDDEN, Role.UNTRACED) for meaning in inner):
        return Meaning(Role.HIDDEN, shown)
    if any(meaning.role is Role.RAW for meaning in inner):
        return Meaning(Role.RAW, shown)
    if any(meaning.role is Role.ROOT for meaning in inner):
        return Meaning(Role.ROOT, shown)
    return Meaning(Role.PLAIN)


def _class_meaning(record: Cursor, depth: int) -> Meaning:
    """A part: another class' object as a field."""
    if traces_of(record):
        return Meaning(Role.TRACED, record.spelling)
    # Its own raw pointers and hidden members are reported at its definition.
    if any(meaning_of(field.type, depth + 1).role is Role.TRACED for field in fields_of(record)):
        return Meaning(Role.TRACED, record.spelling)
    if depth < 8 and any(_class_meaning(base, depth + 1).role is Role.TRACED for base in bases_of(record)):
        return Meaning(Role.TRACED, record.spelling)
    return Meaning(Role.PLAIN)


def _by_spelling(spelling: str) -> Meaning:
    """In a template, where types aren't known yet: by the name that stands there."""
    head = spelling.partition("<")[0].removeprefix("typename ").removeprefix("const ").removeprefix(_NAMESPACE)
    if head in ("Member", "WeakMember", "UncompressedMember", "HeapVector", *_CONTAINERS):
        return Meaning(Role.TRACED, head)
    if head in ("Persistent", "CrossThreadPersistent", "RootedVector"):
        return Meaning(Role.ROOT, head)
    return Meaning(Role.PLAIN)
