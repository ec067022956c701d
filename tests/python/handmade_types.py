"""Types made by hand, as the core reads them from a binary."""

from __future__ import annotations

from tare.types.layouts import Type


def a_type(name: str, size: int, reordered: int | None = None, narrow: int | None = None, **more: object) -> Type:
    smaller = size if reordered is None else reordered
    values: dict[str, object] = {
        "type_id": 0,
        "name": name,
        "kind": "struct",
        "language": "C++",
        "file": "/src/a.h",
        "line": 3,
        "size_bytes": size,
        "align_bytes": 8,
        "hole_bytes": size - smaller,
        "hole_bits": 0,
        "tail_padding_bytes": 0,
        "cache_lines": 1,
        "straddling_fields": 0,
        "order_state": "movable",
        "reordered_bytes": smaller,
        "pointers": 0,
        "narrow_bytes": size if narrow is None else narrow,
        "narrow_reordered_bytes": smaller if narrow is None else narrow,
        "is_standard_layout": 0,
        "is_polymorphic": 0,
        **more,
    }
    return Type(**values)  # type: ignore[arg-type]
