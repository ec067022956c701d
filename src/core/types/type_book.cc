// Scalars, pointers and arrays; classes are read by class_body.
#include "core/types/type_book.h"

#include <algorithm>
#include <bit>

#include "core/types/class_body.h"
#include "core/types/class_layout.h"

namespace tare::core {
namespace {

constexpr int kMostDepth = 200;              // of types in types; templates of real programs reach 30
constexpr std::size_t kMostKnown = 400'000;  // 60 MB
constexpr std::uint32_t kMostPointers = 1u << 30;

TypeFacts pointer_facts() {
  TypeFacts facts = scalar_facts(8, 8);
  facts.pointers = 1;
  facts.narrow = {4, 4, 4};
  return facts;
}

// Sizes of which an ABI aligns scalars to less than their size: _Complex has parts, x87's long double 16 bytes.
std::uint64_t scalar_align(const DieAttributes& attributes) {
  const std::uint64_t size = attributes.byte_size.value_or(1);
  if (attributes.encoding == DW_ATE_complex_float && size > 1) return size / 2;
  return std::min<std::uint64_t>(size, 16);
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 exact = static_cast<unsigned __int128>(a) * b;
  return exact > kMostTypeBytes ? kMostTypeBytes : static_cast<std::uint64_t>(exact);
}

// Only the target's kind is checked: following all pointers would read the whole program.
bool is_function(Dwarf_Die die) {
  for (int step = 0; step < 16; ++step) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_subroutine_type:
        return true;
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
        break;
      default:
        return false;
    }
    const DieAttributes attributes = read_attributes(die);
    if (!attributes.type) return false;
    die = *attributes.type;
  }
  return false;
}

}  // namespace

std::uint32_t sane_align(std::uint64_t align_bytes) {
  return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(align_bytes, 1, 65536)));
}

TypeFacts scalar_facts(std::uint64_t size_bytes, std::uint64_t align_bytes) {
  TypeFacts facts;
  facts.size_bytes = facts.data_bytes = std::min(size_bytes, kMostTypeBytes);
  facts.align_bytes = sane_align(align_bytes);
  facts.narrow = {facts.size_bytes, facts.size_bytes, facts.align_bytes};
  facts.is_known = facts.is_exact = true;
  return facts;
}

TypeFacts TypeBook::facts(const Dwarf_Die& die) {
  if (die.addr == nullptr) return {};
  const auto [known, is_new] = known_.try_emplace(die.addr);
  if (!is_new) return known->second;  // a type inside itself finds an unknown type
  if (depth_ >= kMostDepth) return {};
  ++depth_;
  const TypeFacts found = read(die);
  --depth_;
  known_[die.addr] = found;
  return found;
}

void TypeBook::trim() {
  if (known_.size() > kMostKnown) known_.clear();
}

TypeFacts TypeBook::read(Dwarf_Die die) {
  DieAttributes attributes = read_attributes(die);
  const int tag = dwarf_tag(&die);
  switch (tag) {
    case DW_TAG_base_type:
    case DW_TAG_subrange_type:
    case DW_TAG_string_type:
    case DW_TAG_set_type:
    case DW_TAG_file_type:
      if (!attributes.byte_size && attributes.type) return facts(*attributes.type);
      if (!attributes.byte_size && attributes.bit_size) attributes.byte_size = (*attributes.bit_size + 7) / 8;
      if (!attributes.byte_size) return {};
      return scalar_facts(*attributes.byte_size, attributes.alignment.value_or(scalar_align(attributes)));
    case DW_TAG_enumeration_type: {
      if (attributes.signature) return facts(*attributes.signature);
      if (attributes.byte_size)
        return scalar_facts(*attributes.byte_size, attributes.alignment.value_or(*attributes.byte_size));
      return attributes.type ? facts(*attributes.type) : TypeFacts();
    }
    case DW_TAG_pointer_type: {
      const bool to_data = attributes.byte_size.value_or(8) == 8 && !(attributes.type && is_function(*attributes.type));
      return to_data ? pointer_facts() : scalar_facts(attributes.byte_size.value_or(8), 8);
    }
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
      return pointer_facts();
    case DW_TAG_ptr_to_member_type: {
      return scalar_facts(attributes.type && is_function(*attributes.type) ? 16 : 8, 8);
    }
    case DW_TAG_unspecified_type:  // of nullptr
      return scalar_facts(8, 8);
    case DW_TAG_array_type:
      return read_array(die);
    case DW_TAG_typedef:
    case DW_TAG_template_alias:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
    case DW_TAG_immutable_type:
    case DW_TAG_packed_type:
    case DW_TAG_shared_type: {
      TypeFacts found = attributes.type ? facts(*attributes.type) : TypeFacts();
      if (attributes.alignment) found.align_bytes = found.narrow.align_bytes = sane_align(*attributes.alignment);
      return found;
    }
    default:
      break;
  }
  if (!is_class_tag(tag)) return {};
  if (attributes.signature) return facts(*attributes.signature);
  if (attributes.is_declaration || !attributes.byte_size) return read_declared(die);
  const ClassBody body = read_class(die, attributes, *this);
  return facts_of(body);
}

TypeFacts TypeBook::read_declared(Dwarf_Die& die) const {
  const auto name = declared_.find(die.addr);
  if (name == declared_.end()) return {};
  const auto found = defined_.find(name->second);
  return found == defined_.end() ? TypeFacts() : found->second;
}

TypeFacts TypeBook::read_array(Dwarf_Die& die) {
  const DieAttributes attributes = read_attributes(die);
  if (!attributes.type) return {};
  TypeFacts element = facts(*attributes.type);
  if (!element.is_known) return {};
  std::uint64_t count = 1;
  Dwarf_Die child;
  if (first_child(die, child)) {
    do {
      if (dwarf_tag(&child) != DW_TAG_subrange_type) continue;
      const DieAttributes range = read_attributes(child);
      std::uint64_t length = 0;  // without bounds: a flexible array
      if (range.count) {
        length = *range.count;
      } else if (range.upper_bound && *range.upper_bound >= 0) {
        length = static_cast<std::uint64_t>(*range.upper_bound) + 1 -
                 std::min<std::uint64_t>(range.lower_bound, static_cast<std::uint64_t>(*range.upper_bound) + 1);
      }
      count = product(count, length);
    } while (next_sibling(child));
  }
  TypeFacts found = element;
  found.size_bytes = found.data_bytes =
      attributes.byte_size ? std::min(*attributes.byte_size, kMostTypeBytes) : product(count, element.size_bytes);
  if (attributes.is_vector) found.align_bytes = sane_align(found.size_bytes);
  if (attributes.alignment) found.align_bytes = sane_align(*attributes.alignment);
  found.pointers = static_cast<std::uint32_t>(std::min<std::uint64_t>(product(count, element.pointers), kMostPointers));
  found.narrow = {found.size_bytes, found.size_bytes, found.align_bytes};
  if (element.pointers != 0) {
    found.narrow.size_bytes = found.narrow.data_bytes = product(count, element.narrow.size_bytes);
    found.narrow.align_bytes = element.narrow.align_bytes;
  }
  found.is_empty = false;
  found.is_polymorphic = false;
  found.has_virtual_bases = false;
  return found;
}

}  // namespace tare::core
