// Attributes through libdw, which checks each form's bytes against the unit's end.
#include "core/types/die.h"

#include "core/symbols/byte_reader.h"

namespace tare::core {
namespace {

std::optional<std::uint64_t> unsigned_value(Dwarf_Attribute* attribute) {
  Dwarf_Word value = 0;
  if (dwarf_formudata(attribute, &value) != 0) return std::nullopt;
  return value;
}

bool flag(Dwarf_Attribute* attribute) {
  bool value = false;
  return dwarf_formflag(attribute, &value) == 0 && value;
}

std::string_view text(Dwarf_Attribute* attribute) {
  const char* value = dwarf_formstring(attribute);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string_view name_of(Dwarf_Die& die) {
  Dwarf_Attribute name;
  return dwarf_attr(&die, DW_AT_name, &name) == nullptr ? std::string_view() : text(&name);
}

std::optional<Dwarf_Die> reference(Dwarf_Attribute* attribute) {
  Dwarf_Die die;
  if (dwarf_formref_die(attribute, &die) == nullptr) return std::nullopt;
  return die;
}

// Older compilers write a member's place as an expression that adds a constant; any other one is no constant.
std::optional<std::uint64_t> member_location(Dwarf_Attribute* attribute) {
  if (const auto constant = unsigned_value(attribute)) return constant;
  Dwarf_Block block;
  if (dwarf_formblock(attribute, &block) != 0) return std::nullopt;
  ByteReader reader({reinterpret_cast<const char*>(block.data), block.length});
  if (reader.u8() != DW_OP_plus_uconst) return std::nullopt;
  const std::uint64_t value = reader.uleb();
  if (reader.failed() || !reader.at_end()) return std::nullopt;
  return value;
}

// One byte of 255 means 256 elements. In larger constants, all bits set mean that there is no bound.
std::optional<std::int64_t> upper_bound(Dwarf_Attribute* attribute) {
  const unsigned form = dwarf_whatform(attribute);
  if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
    Dwarf_Sword value = 0;
    return dwarf_formsdata(attribute, &value) == 0 ? std::optional<std::int64_t>(value) : std::nullopt;
  }
  const auto value = unsigned_value(attribute);
  if (!value || (form == DW_FORM_data4 && *value == 0xffffffffu)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

int read_one(Dwarf_Attribute* attribute, void* into) {
  DieAttributes& found = *static_cast<DieAttributes*>(into);
  switch (dwarf_whatattr(attribute)) {
    case DW_AT_name:
      found.name = text(attribute);
      break;
    case DW_AT_byte_size:
      found.byte_size = unsigned_value(attribute);
      break;
    case DW_AT_bit_size:
      found.bit_size = unsigned_value(attribute);
      break;
    case DW_AT_data_bit_offset:
      found.data_bit_offset = unsigned_value(attribute);
      break;
    case DW_AT_bit_offset:
      found.old_bit_offset = unsigned_value(attribute);
      break;
    case DW_AT_data_member_location:
      found.has_location = true;
      found.location = member_location(attribute);
      break;
    case DW_AT_alignment:
      found.alignment = unsigned_value(attribute);
      break;
    case DW_AT_count:
      found.count = unsigned_value(attribute);
      break;
    case DW_AT_upper_bound:
      found.upper_bound = upper_bound(attribute);
      break;
    case DW_AT_lower_bound:
      found.lower_bound = unsigned_value(attribute).value_or(0);
      break;
    case DW_AT_encoding:
      found.encoding = unsigned_value(attribute).value_or(0);
      break;
    case DW_AT_decl_file:
      found.decl_file = unsigned_value(attribute).value_or(0);
      break;
    case DW_AT_decl_line:
      found.decl_line = unsigned_value(attribute).value_or(0);
      break;
    case DW_AT_virtuality:
      found.virtuality = unsigned_value(attribute).value_or(0);
      break;
    case DW_AT_accessibility:
      found.accessibility = unsigned_value(attribute).value_or(0);
      break;
    case DW_AT_declaration:
      found.is_declaration = flag(attribute);
      break;
    case DW_AT_external:
      found.is_external = flag(attribute);
      break;
    case DW_AT_artificial:
      found.is_artificial = flag(attribute);
      break;
    case DW_AT_GNU_vector:
      found.is_vector = flag(attribute);
      break;
    case DW_AT_abstract_origin:
      found.has_abstract_origin = true;
      break;
    case DW_AT_type:
      found.type = reference(attribute);
      break;
    case DW_AT_specification:
      found.specification = reference(attribute);
      break;
    case DW_AT_signature:
      found.signature = reference(attribute);
      break;
    case DW_AT_import:
      found.import = reference(attribute);
      break;
    default:
      break;
  }
  return DWARF_CB_OK;
}

}  // namespace

DieAttributes read_attributes(Dwarf_Die& die) {
  DieAttributes found;
  dwarf_getattrs(&die, read_one, &found, 0);
  // clang leaves out the name of a declaration whose definition is a type unit.
  if (found.name.empty() && found.signature) found.name = name_of(*found.signature);
  return found;
}

}  // namespace tare::core
