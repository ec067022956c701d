"""The errors of a class, and their detection in its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tare.collector.check.types import (
    Role,
    bases_of,
    definition_of,
    fields_of,
    is_collected,
    is_library_class,
    meaning_of,
    methods_of,
    qualified_name,
    traces_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clang.cindex import Cursor

# rule -> meaning and remedy
RULES = {
    "no-trace": "a class has Members and no trace() of its own: what they point to dies while it is in use",
    "untraced-member": "trace() leaves a Member, or a part that has some, out: what it points to dies while it is in use",
    "untraced-base": "trace() doesn't call a base's trace(), whose Members are forgotten then",
    "hidden-member": "Members lie where no trace() reaches: in memory of malloc, or in a global",
    "raw-pointer": "a field points to a collected object, and doesn't keep it: it may die while it is in use",
    "root-in-object": "a root in a collected object keeps what it points to for ever, if that leads back to it",
    "finalizer-touches": "a destructor uses a Member: the object that it points to may be gone already",
}


class Finding(NamedTuple):
    file: str
    line: int
    column: int
    rule: str
    class_name: str
    field: str
    message: str


class TraceBody(NamedTuple):
    """The names in a trace()."""

    fields: frozenset[str]
    bases: frozenset[str]
    is_empty: bool


def check_class(cursor: Cursor) -> Iterator[Finding]:
    """All that is wrong with a class; `cursor` is its definition."""
    name = qualified_name(cursor)
    collected = is_collected(cursor)
    traces = traces_of(cursor)
    fields = [(field, meaning_of(field.type)) for field in fields_of(cursor)]
    traced = [(field, meaning) for field, meaning in fields if meaning.role is Role.TRACED]
    knows_collector = collected or bool(traces) or bool(traced)

    for field, meaning in fields:
        if meaning.role is Role.HIDDEN:
            yield _finding(
                field,
                "hidden-member",
                name,
                f"{meaning.what} holds Members in memory that the collector doesn't know: take HeapVector, HeapDeque or HeapHashMap "
                "in collected objects, RootedVector or Persistents elsewhere",
            )
        elif meaning.role is Role.RAW and knows_collector:
            yield _finding(
                field,
                "raw-pointer",
                name,
                f"a plain pointer to {meaning.what} doesn't keep it: make it a Member, a WeakMember, or an UntracedMember if "
                "something else keeps the object",
            )
        elif meaning.role is Role.ROOT and collected:
            yield _finding(
                field,
                "root-in-object",
                name,
                f"a {meaning.what} in a collected object is a root, and cycles through it never die: make it a Member or a HeapVector",
            )
    if traced and not traces:
        verb = "inherits a trace() that doesn't know them" if _inherits_trace(cursor) else "has no trace()"
        first, meaning = traced[0]
        yield _finding(
            first,
            "no-trace",
            name,
            f"{name} {verb}: give it one that names {_listed([field.spelling for field, _ in traced])}",
        )
    if traces:
        yield from _check_trace(cursor, name, traces[0], [field for field, _ in traced])
    if collected:
        yield from _check_destructor(cursor, name, {field.get_usr() for field, _ in traced})


def _inherits_trace(cursor: Cursor) -> bool:
    return any(traces_of(base) or _inherits_trace(base) for base in bases_of(cursor))


def _check_trace(cursor: Cursor, name: str, trace: Cursor, traced: list[Cursor]) -> Iterator[Finding]:
    body = trace_body(cursor, trace)
    if body is None:
        return  # its definition is in another file, and is checked there
    for field in traced:
        if field.spelling not in body.fields:
            yield _finding(
                field, "untraced-member", name, f"trace() doesn't name it: add `visitor.trace({field.spelling});`"
            )
    for base in bases_of(cursor):
        if is_library_class(base) or base.spelling in body.bases or not _must_be_called(base):
            continue
        yield _finding(
            trace,
            "untraced-base",
            name,
            f"trace() doesn't call {base.spelling}'s: add `{base.spelling}::trace(visitor);`",
        )


def _must_be_called(base: Cursor) -> bool:
    """True if a base's trace(), or one that it inherits, does anything."""
    if any(meaning_of(field.type).role is Role.TRACED for field in fields_of(base)):
        return True
    traces = traces_of(base)
    if traces:
        body = trace_body(definition_of(base), traces[0])
        return body is None or not body.is_empty
    return any(_must_be_called(above) for above in bases_of(base) if not is_library_class(above))


def trace_body(cursor: Cursor, method: Cursor) -> TraceBody | None:
    """The names in a trace() and in the functions of its class that it calls; None if it isn't defined in these files."""
    body = _body_of(method)
    if body is None:
        return None
    fields: set[str] = set()
    bases: set[str] = set()
    seen: set[str] = set()
    waiting = [body]
    while waiting:
        part = waiting.pop()
        for node in part.walk_preorder():
            kind = node.kind.name
            if kind in ("MEMBER_REF_EXPR", "MEMBER_REF", "DECL_REF_EXPR"):
                fields.add(node.spelling)
            if kind == "TYPE_REF" and node.referenced is not None:
                bases.add(node.referenced.spelling)
            if kind != "CALL_EXPR" or not node.spelling or node.spelling in seen:
                continue
            seen.add(node.spelling)
            for called in methods_of(cursor, node.spelling):
                inner = _body_of(called)
                if inner is not None and called != method:
                    waiting.append(inner)
        # In a template, parts may be known by their text only.
        if cursor.kind.name.startswith("CLASS_TEMPLATE"):
            names = {token.spelling for token in part.get_tokens()}
            fields |= names
            bases |= names
    return TraceBody(frozenset(fields), frozenset(bases), not any(True for _ in body.get_children()))


def _body_of(method: Cursor) -> Cursor | None:
    definition = method.get_definition()
    if definition is None:
        return None
    return next((child for child in definition.get_children() if child.kind.name == "COMPOUND_STMT"), None)


def _check_destructor(cursor: Cursor, name: str, traced: set[str]) -> Iterator[Finding]:
    for child in definition_of(cursor).get_children():
        if child.kind.name != "DESTRUCTOR":
            continue
        body = _body_of(child)
        if body is None:
            continue
        for node in body.walk_preorder():
            if (
                node.kind.name == "MEMBER_REF_EXPR"
                and node.referenced is not None
                and node.referenced.get_usr() in traced
            ):
                yield _finding(
                    node,
                    "finalizer-touches",
                    name,
                    f"the destructor uses {node.spelling}, whose object may be gone: do it in prefinalize()",
                    field=node.spelling,
                )
                return


def check_variable(cursor: Cursor) -> Iterator[Finding]:
    """A global or a static: Members there aren't found."""
    meaning = meaning_of(cursor.type)
    if meaning.role is Role.TRACED and meaning.what in (
        "Member",
        "UncompressedMember",
        "HeapVector",
        "HeapDeque",
        "HeapHashMap",
    ):
        yield _finding(
            cursor,
            "hidden-member",
            "",
            f"a {meaning.what} in a global is found by nobody: take a Persistent or a RootedVector",
        )
    elif meaning.role is Role.HIDDEN:
        yield _finding(
            cursor,
            "hidden-member",
            "",
            f"{meaning.what} holds Members in memory that the collector doesn't know: take a RootedVector",
        )


def _finding(at: Cursor, rule: str, class_name: str, message: str, field: str | None = None) -> Finding:
    location = at.location
    file = location.file.name if location.file is not None else ""
    return Finding(
        file, location.line, location.column, rule, class_name, at.spelling if field is None else field, message
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
