// One debugging information entry: the attributes that layouts need, read in one pass.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace tare::core {

struct DieAttributes {
  std::string_view name;  // points into the file; the definition's, if a declaration with `signature` has none
  std::optional<std::uint64_t> byte_size;
  std::optional<std::uint64_t> bit_size;
  std::optional<std::uint64_t> data_bit_offset;  // DWARF 4 on
  std::optional<std::uint64_t> old_bit_offset;   // DWARF 2 and 3: from the storage unit's most significant bit
  std::optional<std::uint64_t> location;         // DW_AT_data_member_location where it is a constant
  std::optional<std::uint64_t> alignment;
  std::optional<std::uint64_t> count;
  std::optional<std::int64_t> upper_bound;
  std::uint64_t lower_bound = 0;
  std::uint64_t encoding = 0;
  std::uint64_t decl_file = 0;
  std::uint64_t decl_line = 0;
  std::uint64_t virtuality = 0;
  std::uint64_t accessibility = 0;  // 0: as the kind of type has it
  bool is_declaration = false;
  bool is_external = false;
  bool is_artificial = false;
  bool is_vector = false;  // of the processor
  bool has_location = false;
  bool has_abstract_origin = false;
  std::optional<Dwarf_Die> type;
  std::optional<Dwarf_Die> specification;
  std::optional<Dwarf_Die> signature;  // the definition in a type unit
  std::optional<Dwarf_Die> import;
};

DieAttributes read_attributes(Dwarf_Die& die);

// The first child and the next sibling; false: there's none, or the file is damaged.
inline bool first_child(Dwarf_Die& die, Dwarf_Die& child) { return dwarf_child(&die, &child) == 0; }
inline bool next_sibling(Dwarf_Die& die) { return dwarf_siblingof(&die, &die) == 0; }

inline bool is_class_tag(int tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_interface_type;
}

}  // namespace tare::core
