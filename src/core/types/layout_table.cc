// Layouts column by column.
#include "core/types/layout_table.h"

namespace tare::core {
namespace {

std::vector<std::string> kind_words() { return {"struct", "class", "union"}; }
std::vector<std::string> language_words() { return {"C", "C++", "Rust", "other"}; }
std::vector<std::string> state_words() {
  std::vector<std::string> words;
  for (int state = 0; state <= static_cast<int>(OrderState::NotUnderstood); ++state)
    words.emplace_back(word_of(static_cast<OrderState>(state)));
  return words;
}

std::int64_t whole(std::uint64_t value) { return to_column(value); }

}  // namespace

const char* word_of(OrderState state) {
  switch (state) {
    case OrderState::Movable:
      return "movable";
    case OrderState::Overlaid:
      return "overlaid";
    case OrderState::Packed:
      return "packed";
    case OrderState::CompilerOrders:
      return "compiler orders";
    case OrderState::NotUnderstood:
      return "not understood";
  }
  return "";
}

const char* word_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::Member:
      return "member";
    case FieldKind::BitField:
      return "bit-field";
    case FieldKind::Base:
      return "base";
    case FieldKind::VirtualBase:
      return "virtual base";
    case FieldKind::TablePointer:
      return "table pointer";
    case FieldKind::Variant:
      return "variant";
    case FieldKind::Flexible:
      return "flexible";
  }
  return "";
}

Table types_table(std::span<const TypeLayout> layouts) {
  TableBuilder table("types");
  const auto number = [&](const char* name) { return table.column(name, ColumnType::Int64); };
  const auto type_id = number("type_id");
  const auto name = table.column("name", ColumnType::String);
  const auto kind = table.column("kind", kind_words());
  const auto language = table.column("language", language_words());
  const auto file = table.column("file", ColumnType::String);
  const auto line = number("line");
  const auto size_bytes = number("size_bytes");
  const auto align_bytes = number("align_bytes");
  const auto hole_bytes = number("hole_bytes");
  const auto hole_bits = number("hole_bits");
  const auto tail_padding_bytes = number("tail_padding_bytes");
  const auto cache_lines = number("cache_lines");
  const auto straddling_fields = number("straddling_fields");
  const auto order_state = table.column("order_state", state_words());
  const auto reordered_bytes = number("reordered_bytes");
  const auto pointers = number("pointers");
  const auto narrow_bytes = number("narrow_bytes");
  const auto narrow_reordered_bytes = number("narrow_reordered_bytes");
  const auto is_standard_layout = number("is_standard_layout");
  const auto is_polymorphic = number("is_polymorphic");
  table.reserve(layouts.size());
  std::int64_t row = 0;
  for (const TypeLayout& layout : layouts) {
    table.add(type_id, row++);
    table.add(name, std::string_view(layout.name));
    table.add_code(kind, static_cast<std::int32_t>(layout.kind));
    table.add_code(language, static_cast<std::int32_t>(layout.language));
    if (layout.file.empty()) {
      table.add_null(file);
      table.add_null(line);
    } else {
      table.add(file, std::string_view(layout.file));
      table.add(line, std::int64_t{layout.line});
    }
    table.add(size_bytes, whole(layout.size_bytes));
    table.add(align_bytes, std::int64_t{layout.align_bytes});
    table.add(hole_bytes, whole(layout.hole_bytes));
    table.add(hole_bits, whole(layout.hole_bits));
    table.add(tail_padding_bytes, whole(layout.tail_padding_bytes()));
    table.add(cache_lines, std::int64_t{layout.cache_lines});
    table.add(straddling_fields, std::int64_t{layout.straddling_fields});
    table.add_code(order_state, static_cast<std::int32_t>(layout.order_state));
    table.add(reordered_bytes, whole(layout.reordered_bytes));
    table.add(pointers, std::int64_t{layout.pointers});
    table.add(narrow_bytes, whole(layout.narrow_bytes));
    table.add(narrow_reordered_bytes, whole(layout.narrow_reordered_bytes));
    table.add(is_standard_layout, std::int64_t{layout.is_standard_layout ? 1 : 0});
    table.add(is_polymorphic, std::int64_t{layout.is_polymorphic ? 1 : 0});
  }
  return table.take();
}

}  // namespace tare::core
