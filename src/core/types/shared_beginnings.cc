// Hashes of the first fields of all structs of C, by their number; the longest one that two types have is the
// beginning.
#include "core/types/shared_beginnings.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/types/field_order.h"
#include "core/types/placement.h"
#include "core/types/scopes.h"

namespace tare::core {
namespace {

bool is_struct_of_c(const TypeLayout& type) { return type.language == Language::C && type.kind == TypeKind::Struct; }

// One field is a beginning only if it has fields itself (`PyObject ob_base`). libxml2's nodes have four fields in
// common, and begin with a pointer, as many unrelated types do.
bool is_beginning(const TypeLayout& type, std::size_t fields) {
  if (fields != 1) return fields > 1;
  const Field& first = type.fields.front();
  return first.size_bits > 64 && first.type.find_first_of("*[") == std::string::npos;
}

class Beginnings {
 public:
  void add(const TypeLayout& type) {
    std::uint64_t hash = 0;
    for (const Field& field : type.fields) {
      hash = with(hash, field);
      const auto [known, is_new] = found_.try_emplace(hash, Known{type.name, false});
      known->second.shared = known->second.shared || known->second.type != type.name;
    }
  }

  // The number of first fields that another type has, too.
  std::size_t shared_by(const TypeLayout& type) const {
    std::uint64_t hash = 0;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
      hash = with(hash, type.fields[i]);
      if (!found_.at(hash).shared) break;
      longest = i + 1;
    }
    if (!is_beginning(type, longest)) return 0;
    // Bit-fields that follow each other have words in common.
    while (longest < type.fields.size() && type.fields[longest - 1].kind == FieldKind::BitField &&
           type.fields[longest].kind == FieldKind::BitField)
      ++longest;
    return longest;
  }

 private:
  struct Known {
    std::string_view type;  // the first one that begins so
    bool shared;
  };

  static std::uint64_t with(std::uint64_t hash, const Field& field) {
    return mix(hash_of(field.name, hash_of(field.type, hash)), mix(field.offset_bits, field.size_bits));
  }

  std::unordered_map<std::uint64_t, Known> found_;
};

bool keeps(const std::vector<std::uint32_t>& order, std::size_t fields) {
  for (std::size_t i = 0; i < std::min(fields, order.size()); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

// Structs of C have members only, so that each field is a part.
std::vector<Part> parts_of(const TypeLayout& type, std::size_t kept) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const Field& field = type.fields[i];
    const std::uint64_t unit_bits = field.kind == FieldKind::BitField ? std::uint64_t{field.align_bytes} * 8 : 0;
    const Part::Place place = i < kept                            ? Part::Place::First
                              : field.kind == FieldKind::Flexible ? Part::Place::Last
                                                                  : Part::Place::Free;
    parts.push_back({field.size_bits, field.align_bytes, unit_bits, place});
  }
  return parts;
}

bool gives(const std::vector<Part>& parts, const Surroundings& around, const TypeLayout& type) {
  const Placement placement = place(parts, order_as_is(parts.size()), around);
  if (placement.size_bytes != type.size_bytes) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (placement.offsets_bits[i] != type.fields[i].offset_bits) return false;
  }
  return true;
}

void order_again(TypeLayout& type, std::size_t kept) {
  const std::vector<Part> parts = parts_of(type, kept);
  const Surroundings around{type.align_bytes, 0, {}};
  ProposedOrder proposed{type.size_bytes, {}};
  if (gives(parts, around, type)) proposed = propose_order(parts, around);
  type.reordered_bytes = proposed.size_bytes;
  type.order = std::move(proposed.order);
}

}  // namespace

void keep_shared_beginnings(std::vector<TypeLayout>& layouts) {
  Beginnings beginnings;
  for (const TypeLayout& type : layouts) {
    if (is_struct_of_c(type)) beginnings.add(type);
  }
  for (TypeLayout& type : layouts) {
    if (!is_struct_of_c(type) || (type.order.empty() && type.narrow_order.empty())) continue;
    const std::size_t kept = beginnings.shared_by(type);
    if (!keeps(type.order, kept)) order_again(type, kept);
    // Sizes of members with narrow pointers aren't kept: no order is proposed then.
    if (!keeps(type.narrow_order, kept)) {
      type.narrow_order.clear();
      type.narrow_reordered_bytes = type.narrow_bytes;
    }
  }
}

}  // namespace tare::core
