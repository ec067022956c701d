// A class as DWARF has it: its parts with sizes and offsets, before gaps between them are computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/types/die.h"
#include "core/types/placement.h"
#include "core/types/type_book.h"
#include "core/types/type_layout.h"

namespace tare::core {

struct BodyField {
  std::string_view name;
  FieldKind kind = FieldKind::Member;
  std::optional<Dwarf_Die> type;
  TypeFacts facts;  // of the type
  std::uint64_t offset_bits = 0;
  std::uint64_t size_bits = 0;  // bytes that following fields can't use
  std::uint32_t align_bytes = 1;
  std::uint64_t unit_bits = 0;  // bit-fields: size of the declared type
  bool shares = false;          // others may lie in its tail padding: bases, [[no_unique_address]]
};

struct ClassBody {
  TypeKind kind = TypeKind::Struct;
  Language language = Language::Other;
  std::uint64_t size_bytes = 0;
  std::uint32_t align_bytes = 1;
  std::uint32_t own_align_bytes = 1;  // requested by the type itself
  std::vector<BodyField> fields;      // bases first by place, then members as declared; virtual bases last
  // Those virtual bases that no inner class has placed already, in the order of the layout.
  std::vector<TypeFacts> virtual_bases;
  bool has_variants = false;
  bool is_packed = false;
  bool is_pod = true;
  bool is_polymorphic = false;
  bool is_standard_layout = true;
  bool is_exact = true;  // all fields' types are known
};

// `attributes` are those of `die`, a definition.
ClassBody read_class(Dwarf_Die die, const DieAttributes& attributes, TypeBook& book);

}  // namespace tare::core
