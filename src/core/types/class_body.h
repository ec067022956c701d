// A class as DWARF has it: its parts with sizes and places, before anybody asks what lies between them.
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
  std::uint64_t size_bits = 0;  // what it takes from those that follow
  std::uint32_t align_bytes = 1;
  std::uint64_t unit_bits = 0;  // bit-fields: size of the declared type
  bool shares = false;          // others may lie in its tail padding: bases, [[no_unique_address]]
};

struct ClassBody {
  TypeKind kind = TypeKind::Struct;
  Language language = Language::Other;
  std::uint64_t size_bytes = 0;
  std::uint32_t align_bytes = 1;
  std::uint32_t own_align_bytes = 1;  // that the type asks for itself
  std::vector<BodyField> fields;      // bases first by place, then members as declared; virtual bases last
  // What those virtual bases are that nobody further in has put already, in the order in which they are laid out.
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
