// Walks a class's children: members, bases, the variants of Rust's enums, and the facts that decide whether it is a
// POD.
#include "core/types/class_body.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace tare::core {
namespace {

constexpr int kMostBaseDepth = 64;

// Behind typedefs, and behind the declaration by which clang names a class in a type unit.
Dwarf_Die defined_class(Dwarf_Die die) {
  for (int step = 0; step < 8; ++step) {
    const DieAttributes attributes = read_attributes(die);
    const std::optional<Dwarf_Die>& next = dwarf_tag(&die) == DW_TAG_typedef ? attributes.type : attributes.signature;
    if (!next) break;
    die = *next;
  }
  return die;
}

class BodyReader {
 public:
  BodyReader(Dwarf_Die die, const DieAttributes& attributes, TypeBook& book)
      : die_(die), attributes_(attributes), book_(book), default_access_(access_of(dwarf_tag(&die))) {}

  ClassBody read() {
    body_.language = book_.language();
    body_.size_bytes = std::min(attributes_.byte_size.value_or(0), kMostTypeBytes);
    const int tag = dwarf_tag(&die_);
    body_.kind = tag == DW_TAG_union_type   ? TypeKind::Union
                 : tag == DW_TAG_class_type ? TypeKind::Class
                                            : TypeKind::Struct;
    Dwarf_Die child;
    if (first_child(die_, child)) {
      do {
        take(child);
      } while (next_sibling(child));
    }
    arrange();
    return std::move(body_);
  }

 private:
  static std::uint64_t access_of(int class_tag) {
    return class_tag == DW_TAG_class_type ? DW_ACCESS_private : DW_ACCESS_public;
  }

  void take(Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_member:
        take_member(read_attributes(child), FieldKind::Member);
        break;
      case DW_TAG_inheritance:
        take_base(read_attributes(child));
        break;
      case DW_TAG_variant_part:
        take_variants(child);
        break;
      case DW_TAG_subprogram:
        if (body_.is_pod) take_function(child);
        break;
      default:
        break;
    }
  }

  void take_member(const DieAttributes& member, FieldKind kind) {
    const bool has_place = member.has_location || member.data_bit_offset || member.bit_size;
    if (member.is_external || member.is_declaration) return;  // static
    if (!has_place && body_.kind != TypeKind::Union && kind != FieldKind::Variant) return;
    BodyField field;
    field.name = member.name;
    field.kind = kind;
    field.type = member.type;
    if (member.type) field.facts = book_.facts(*member.type);
    field.align_bytes = member.alignment ? sane_align(*member.alignment) : field.facts.align_bytes;
    field.offset_bits = std::min(member.location.value_or(0), kMostTypeBytes) * 8;
    field.size_bits = field.facts.size_bytes * 8;
    if (member.bit_size) {
      field.kind = FieldKind::BitField;
      field.size_bits = std::min(*member.bit_size, kMostTypeBytes);
      const std::uint64_t unit_bytes = field.facts.is_known ? field.facts.size_bytes : member.byte_size.value_or(4);
      field.unit_bits = std::max<std::uint64_t>(unit_bytes, 1) * 8;
      if (member.data_bit_offset) {
        field.offset_bits += std::min(*member.data_bit_offset, kMostTypeBytes);
      } else if (member.old_bit_offset) {  // counted from the most significant bit of the storage
        const std::uint64_t storage_bits = std::min(member.byte_size.value_or(unit_bytes), kMostTypeBytes) * 8;
        const std::uint64_t from_high = std::min(*member.old_bit_offset, storage_bits) + field.size_bits;
        field.offset_bits += storage_bits - std::min(from_high, storage_bits);
      }
    } else if (kind == FieldKind::Member && member.is_artificial && member.name.starts_with("_vptr")) {
      field.kind = FieldKind::TablePointer;
      field.facts = scalar_facts(8, 8);
      body_.is_polymorphic = true;
    }
    if (field.kind == FieldKind::Member || field.kind == FieldKind::BitField) {
      const std::uint64_t access = member.accessibility == 0 ? default_access_ : member.accessibility;
      if (access != DW_ACCESS_public) body_.is_pod = false;
      if (access_ != 0 && access_ != access) body_.is_standard_layout = false;
      access_ = access;
      if (!field.facts.is_pod) body_.is_pod = false;
      if (!field.facts.is_standard_layout) body_.is_standard_layout = false;
      field.shares = field.facts.is_empty || field.facts.data_bytes < field.facts.size_bytes;
    }
    body_.fields.push_back(field);
  }

  void take_base(const DieAttributes& base) {
    BodyField field;
    field.type = base.type;
    if (base.type) field.facts = book_.facts(*base.type);
    const bool is_virtual = base.virtuality == DW_VIRTUALITY_virtual;
    field.kind = is_virtual ? FieldKind::VirtualBase : FieldKind::Base;
    field.align_bytes = field.facts.align_bytes;
    field.offset_bits = is_virtual ? 0 : std::min(base.location.value_or(0), kMostTypeBytes) * 8;
    field.size_bits = field.facts.is_empty ? 0 : field.facts.data_bytes * 8;
    field.shares = true;
    body_.is_pod = false;
    body_.is_polymorphic = body_.is_polymorphic || field.facts.is_polymorphic || is_virtual;
    if (is_virtual || !field.facts.is_standard_layout) body_.is_standard_layout = false;
    body_.fields.push_back(field);
  }

  // Where the tag lies in a value that the data can't have, it lies over the data.
  void take_variants(Dwarf_Die& part) {
    body_.has_variants = true;
    Dwarf_Die variant;
    if (!first_child(part, variant)) return;
    do {
      if (dwarf_tag(&variant) == DW_TAG_member) take_member(read_attributes(variant), FieldKind::Member);
      Dwarf_Die member;
      if (dwarf_tag(&variant) != DW_TAG_variant || !first_child(variant, member)) continue;
      do {
        if (dwarf_tag(&member) == DW_TAG_member) take_member(read_attributes(member), FieldKind::Variant);
      } while (next_sibling(member));
    } while (next_sibling(variant));
  }

  // A constructor or destructor of one's own, or an assignment: then derived classes use the tail padding.
  void take_function(Dwarf_Die& function) {
    const DieAttributes attributes = read_attributes(function);
    if (attributes.is_artificial || attributes.name.empty()) return;
    std::string_view name = attributes_.name;
    if (const auto arguments = name.find('<'); arguments != std::string_view::npos) name = name.substr(0, arguments);
    if (attributes.name == name || attributes.name.starts_with('~') || attributes.name == "operator=")
      body_.is_pod = false;
  }

  void arrange() {
    auto& fields = body_.fields;
    const auto rank = [](const BodyField& field) {
      return field.kind == FieldKind::VirtualBase                                     ? 2
             : field.kind == FieldKind::Base || field.kind == FieldKind::TablePointer ? 0
                                                                                      : 1;
    };
    std::stable_sort(fields.begin(), fields.end(), [&](const BodyField& a, const BodyField& b) {
      const int left = rank(a);
      const int right = rank(b);
      return left != right ? left < right : left == 0 && a.offset_bits < b.offset_bits;
    });
    body_.is_pod = body_.is_pod && !body_.is_polymorphic;
    body_.is_standard_layout = body_.is_standard_layout && !body_.is_polymorphic && data_in_one_class();
    for (const BodyField& field : fields) body_.is_exact = body_.is_exact && field.facts.is_exact;
    if (!fields.empty() && fields.back().kind == FieldKind::Member && fields.back().size_bits == 0 &&
        fields.size() > 1 && !fields.back().facts.is_empty && body_.kind != TypeKind::Union) {
      fields.back().kind = FieldKind::Flexible;
    }
    if (body_.kind != TypeKind::Union && !body_.has_variants) find_shared();
    find_alignment();
    const bool has_virtual_bases = std::any_of(fields.begin(), fields.end(), [](const BodyField& field) {
      return field.kind == FieldKind::VirtualBase || (field.kind == FieldKind::Base && field.facts.has_virtual_bases);
    });
    if (has_virtual_bases) collect_virtual_bases(die_, 0);
  }

  bool data_in_one_class() const {
    int with_data = 0;
    bool own = false;
    for (const BodyField& field : body_.fields) {
      if (field.kind == FieldKind::Base) {
        with_data += field.facts.is_empty ? 0 : 1;
      } else {
        own = true;
      }
    }
    return with_data + (own ? 1 : 0) <= 1;
  }

  // Finds fields whose bytes other fields share: the size that is left is seen from the place of the next field.
  void find_shared() {
    auto& fields = body_.fields;
    std::vector<std::size_t> by_offset;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].kind != FieldKind::VirtualBase) by_offset.push_back(i);
    }
    std::stable_sort(by_offset.begin(), by_offset.end(), [&](std::size_t a, std::size_t b) {
      const BodyField& left = fields[a];
      const BodyField& right = fields[b];
      return left.offset_bits != right.offset_bits ? left.offset_bits < right.offset_bits
                                                   : left.facts.is_empty < right.facts.is_empty;
    });
    std::uint64_t covered_bits = 0;
    for (const std::size_t i : by_offset) {  // empty members lie anywhere, also inside earlier ones
      if (!fields[i].facts.is_empty) {
        const std::uint64_t own_bits = fields[i].shares ? fields[i].facts.data_bytes * 8 : fields[i].size_bits;
        covered_bits = std::max(covered_bits, fields[i].offset_bits + own_bits);
      } else if (fields[i].offset_bits < covered_bits) {
        fields[i].size_bits = 0;
      }
    }
    std::uint64_t next_offset = body_.size_bytes * 8;
    for (auto at = by_offset.rbegin(); at != by_offset.rend(); ++at) {
      BodyField& field = fields[*at];
      if (!field.facts.is_known && field.kind != FieldKind::BitField) {
        field.size_bits = next_offset - std::min(field.offset_bits, next_offset);
      }
      const bool overlaps = field.offset_bits + field.size_bits > next_offset;
      if (overlaps && field.shares) {
        field.size_bits = std::min(field.facts.is_empty ? 0 : field.facts.data_bytes * 8,
                                   next_offset - std::min(field.offset_bits, next_offset));
      } else if (field.kind == FieldKind::Member) {
        field.shares = false;
      }
      if (field.size_bits > 0) next_offset = field.offset_bits;
    }
  }

  // DWARF has an alignment only if the source has one. Packed types are recognised by the offsets of their fields.
  void find_alignment() {
    for (BodyField& field : body_.fields) {
      if (field.kind == FieldKind::BitField || field.kind == FieldKind::VirtualBase || field.offset_bits == 0) continue;
      const std::uint64_t seen = (field.offset_bits / 8) & (~(field.offset_bits / 8) + 1);
      if (seen >= field.align_bytes) continue;
      field.align_bytes = sane_align(seen);
      body_.is_packed = true;
    }
    std::uint32_t align = 1;
    for (const BodyField& field : body_.fields) align = std::max(align, field.align_bytes);
    if (attributes_.alignment) {  // of a packed type it is all there is, of others the least
      body_.own_align_bytes = sane_align(*attributes_.alignment);
      align = body_.is_packed ? body_.own_align_bytes : std::max(align, body_.own_align_bytes);
    }
    if (body_.size_bytes % align != 0) {
      align = attributes_.alignment ? body_.own_align_bytes : sane_align(body_.size_bytes & (~body_.size_bytes + 1));
      body_.is_packed = true;
    }
    for (BodyField& field : body_.fields) {
      if (field.align_bytes <= align) continue;
      field.align_bytes = align;
      body_.is_packed = true;
    }
    body_.align_bytes = align;
  }

  // Depth first, each once: a base that two others share is laid out where the first of them is met.
  void collect_virtual_bases(Dwarf_Die type, int depth) {
    Dwarf_Die child;
    if (depth > kMostBaseDepth || !first_child(type, child)) return;
    do {
      if (dwarf_tag(&child) != DW_TAG_inheritance) continue;
      const DieAttributes base = read_attributes(child);
      if (!base.type) continue;
      const Dwarf_Die target = defined_class(*base.type);
      const TypeFacts facts = book_.facts(target);
      if (base.virtuality == DW_VIRTUALITY_virtual) {
        if (!seen_.insert(target.addr).second) continue;
        body_.virtual_bases.push_back(facts);
      }
      if (facts.has_virtual_bases && walked_.insert(target.addr).second) collect_virtual_bases(target, depth + 1);
    } while (next_sibling(child));
  }

  Dwarf_Die die_;
  const DieAttributes& attributes_;
  TypeBook& book_;
  std::uint64_t default_access_;
  std::uint64_t access_ = 0;
  std::unordered_set<const void*> seen_;    // virtual bases
  std::unordered_set<const void*> walked_;  // classes whose virtual bases are already in the list
  ClassBody body_;
};

}  // namespace

ClassBody read_class(Dwarf_Die die, const DieAttributes& attributes, TypeBook& book) {
  return BodyReader(die, attributes, book).read();
}

}  // namespace tare::core
