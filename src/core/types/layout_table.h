// Table `types`: one row a type, for SQL and reports.
#pragma once

#include <span>

#include "core/columns/tables.h"
#include "core/types/type_layout.h"

namespace tare::core {

// Row i belongs to layouts[i], whose type_id is i. Columns: type_id, name, kind (struct, class, union), language (C,
// C++, Rust, other), file and line (null: unknown), size_bytes, align_bytes, hole_bytes, hole_bits, tail_padding_bytes,
// cache_lines, straddling_fields, order_state (movable, overlaid, packed, compiler orders, not understood),
// reordered_bytes, pointers, narrow_bytes, narrow_reordered_bytes, is_standard_layout and is_polymorphic (0 or 1).
Table types_table(std::span<const TypeLayout> layouts);

const char* word_of(OrderState state);
const char* word_of(FieldKind kind);

}  // namespace tare::core
