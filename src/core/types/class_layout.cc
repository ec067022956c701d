// Holes by covering the object's bits with its fields; sizes of other orders by the compiler's rules, where those give
// the order as it is.
#include "core/types/class_layout.h"

#include <algorithm>

#include "core/types/field_order.h"
#include "core/types/placement.h"
#include "core/types/scopes.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kCacheLineBits = 64 * 8;

enum class Pointers : std::uint8_t { Wide, Narrow };

// A base alone doesn't always show if the compiler reuses its tail padding. The offsets in the derived class do.
enum class LastBase : std::uint8_t { AsItsType, KeepsPadding };

// The arguments of place() for a class.
struct Model {
  std::vector<Part> parts;
  std::vector<std::uint32_t> fields;  // of which each part is
  Surroundings around;
};

std::uint64_t size_bits_of(const BodyField& field, Pointers pointers) {
  const bool fixed =
      field.kind == FieldKind::BitField || field.kind == FieldKind::TablePointer || !field.facts.is_known;
  if (pointers == Pointers::Wide || fixed || field.facts.pointers == 0) return field.size_bits;
  if (field.size_bits == 0) return 0;
  return (field.shares ? field.facts.narrow.data_bytes : field.facts.narrow.size_bytes) * 8;
}

std::uint32_t align_of(const BodyField& field, Pointers pointers) {
  if (pointers == Pointers::Wide || field.facts.pointers == 0) return field.align_bytes;
  return field.align_bytes > field.facts.align_bytes ? field.align_bytes  // the source requests more
                                                     : std::min(field.align_bytes, field.facts.narrow.align_bytes);
}

bool takes_nothing(const BodyField& field) {
  return field.size_bits == 0 && field.facts.is_empty && field.kind != FieldKind::Flexible;
}

void keep_padding(Model& model, const ClassBody& body, Pointers pointers) {
  for (std::size_t i = model.parts.size(); i-- > 0;) {
    const BodyField& base = body.fields[model.fields[i]];
    if (base.kind != FieldKind::Base) continue;
    if (base.facts.has_virtual_bases) return;
    model.parts[i].size_bits = (pointers == Pointers::Wide ? base.facts.size_bytes : base.facts.narrow.size_bytes) * 8;
    return;
  }
}

// Two objects of one empty type can't have the same address. A field at the offset of an empty base or member stays
// there, because another field may begin with such an object.
void keep_first(Model& model) {
  for (std::size_t i = 0; i < model.parts.size(); ++i) {
    if (i > 0 && (model.parts[i].unit_bits == 0 || model.parts[i - 1].unit_bits == 0)) break;
    if (model.parts[i].place == Part::Place::Free) model.parts[i].place = Part::Place::First;
  }
}

Model model_of(const ClassBody& body, Pointers pointers, LastBase last_base) {
  Model model;
  bool has_empty = false;
  model.around.least_align_bytes = body.own_align_bytes;
  model.around.least_bytes = body.size_bytes == 0 ? 0 : 1;
  for (std::uint32_t i = 0; i < body.fields.size(); ++i) {
    const BodyField& field = body.fields[i];
    if (field.kind == FieldKind::VirtualBase) continue;
    const std::uint32_t align = align_of(field, pointers);
    if (takes_nothing(field)) {
      has_empty = true;
      model.around.least_align_bytes = std::max(model.around.least_align_bytes, align);
      continue;
    }
    const Part::Place place = field.kind == FieldKind::Base || field.kind == FieldKind::TablePointer
                                  ? Part::Place::First
                              : field.kind == FieldKind::Flexible ? Part::Place::Last
                                                                  : Part::Place::Free;
    model.parts.push_back({size_bits_of(field, pointers), align, field.unit_bits, place});
    model.fields.push_back(i);
  }
  if (last_base == LastBase::KeepsPadding) keep_padding(model, body, pointers);
  if (has_empty) keep_first(model);
  for (const TypeFacts& base : body.virtual_bases) {
    const bool narrow = pointers == Pointers::Narrow;
    model.around.virtual_bases.push_back({base.is_empty ? 0
                                          : narrow      ? base.narrow.data_bytes
                                                        : base.data_bytes,
                                          narrow ? base.narrow.align_bytes : base.align_bytes});
  }
  return model;
}

bool gives(const Model& model, const ClassBody& body) {
  const Placement placement = place(model.parts, order_as_is(model.parts.size()), model.around);
  if (placement.size_bytes != body.size_bytes || placement.align_bytes != body.align_bytes) return false;
  for (std::size_t i = 0; i < model.parts.size(); ++i) {
    if (placement.offsets_bits[i] != body.fields[model.fields[i]].offset_bits) return false;
  }
  return true;
}

struct Understood {
  OrderState state = OrderState::NotUnderstood;
  LastBase last_base = LastBase::AsItsType;
};

Understood understand(const ClassBody& body) {
  Understood understood;
  if (body.kind == TypeKind::Union || body.has_variants) {
    understood.state = OrderState::Overlaid;
    return understood;
  }
  if (body.language == Language::Rust) understood.state = OrderState::CompilerOrders;
  // An array of length zero marks an offset: its neighbours are there on purpose. And an empty member that isn't at the
  // begin was kept from it by another of its type: where it would go next depends on all others' insides.
  const bool has_mark = std::any_of(body.fields.begin(), body.fields.end(), [](const BodyField& field) {
    return field.kind == FieldKind::Member && field.size_bits == 0 && (!takes_nothing(field) || field.offset_bits != 0);
  });
  if (body.is_packed) {
    understood.state = OrderState::Packed;
    return understood;
  }
  if (!body.is_exact || has_mark) return understood;
  for (const LastBase last_base : {LastBase::AsItsType, LastBase::KeepsPadding}) {
    if (gives(model_of(body, Pointers::Wide, last_base), body)) return {OrderState::Movable, last_base};
  }
  return understood;
}

std::uint32_t pointers_in(const ClassBody& body) {
  std::uint64_t count = 0;
  for (const BodyField& field : body.fields) {
    if (field.kind != FieldKind::VirtualBase) count += field.facts.pointers;
  }
  for (const TypeFacts& base : body.virtual_bases) count += base.pointers;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 1u << 30));
}

NarrowFacts narrow_overlaid(const ClassBody& body) {
  NarrowFacts narrow{0, 0, body.own_align_bytes};
  for (const BodyField& field : body.fields) {
    narrow.align_bytes = std::max(narrow.align_bytes, align_of(field, Pointers::Narrow));
    narrow.size_bytes = std::max(narrow.size_bytes, round_up(size_bits_of(field, Pointers::Narrow), 8) / 8);
  }
  narrow.size_bytes = narrow.data_bytes = std::min(round_up(narrow.size_bytes, narrow.align_bytes), body.size_bytes);
  return narrow;
}

// In the order as it is, or, where the compiler chooses, in the best one.
NarrowFacts narrow_of(const ClassBody& body, const Understood& understood) {
  const NarrowFacts as_is{body.size_bytes, body.size_bytes, body.align_bytes};
  if (pointers_in(body) == 0) return as_is;
  if (body.kind == TypeKind::Union) return narrow_overlaid(body);
  if (understood.state != OrderState::Movable && understood.state != OrderState::CompilerOrders) return as_is;
  const Model model = model_of(body, Pointers::Narrow, understood.last_base);
  std::vector<std::uint32_t> order = order_as_is(model.parts.size());
  if (understood.state == OrderState::CompilerOrders) {
    const ProposedOrder best = propose_order(model.parts, model.around);
    if (!best.order.empty()) order = best.order;
  }
  const Placement placement = place(model.parts, order, model.around);
  const std::uint64_t size = std::min(placement.size_bytes, body.size_bytes);
  return {size, body.is_pod ? size : std::min(placement.data_bytes, size), placement.align_bytes};
}

// Converts an order of parts to an order of fields: empty bases first, fields without a size beside the fields that
// stay at the begin, virtual bases last.
std::vector<std::uint32_t> order_of_fields(const ClassBody& body, const Model& model,
                                           const std::vector<std::uint32_t>& parts) {
  std::vector<std::uint32_t> order;
  if (parts.empty()) return order;
  const auto add_empty = [&](FieldKind kind) {
    for (std::uint32_t i = 0; i < body.fields.size(); ++i) {
      if (body.fields[i].kind == kind && takes_nothing(body.fields[i])) order.push_back(i);
    }
  };
  add_empty(FieldKind::Base);
  bool members_added = false;
  for (const std::uint32_t part : parts) {
    if (!members_added && model.parts[part].place != Part::Place::First) {
      add_empty(FieldKind::Member);
      members_added = true;
    }
    order.push_back(model.fields[part]);
  }
  if (!members_added) add_empty(FieldKind::Member);
  for (std::uint32_t i = 0; i < body.fields.size(); ++i) {
    if (body.fields[i].kind == FieldKind::VirtualBase) order.push_back(i);
  }
  return order;
}

void find_holes(const ClassBody& body, TypeLayout& layout) {
  std::vector<Hole> covered;
  for (const BodyField& field : body.fields) {
    if (field.kind == FieldKind::VirtualBase || field.size_bits == 0) continue;
    covered.push_back({field.offset_bits, field.size_bits});
    const std::uint64_t last_bit = field.offset_bits + field.size_bits - 1;
    if (field.size_bits <= kCacheLineBits && field.offset_bits / kCacheLineBits != last_bit / kCacheLineBits)
      ++layout.straddling_fields;
  }
  if (covered.empty()) return;  // an empty class has its byte so that objects have addresses
  std::sort(covered.begin(), covered.end(), [](const Hole& a, const Hole& b) { return a.offset_bits < b.offset_bits; });
  const std::uint64_t size_bits = body.size_bytes * 8;
  std::uint64_t end = 0;
  for (const Hole& field : covered) {
    if (field.offset_bits > end) {
      layout.holes.push_back({end, field.offset_bits - end});
      // A hole of bits and bytes is bits up to the next byte, then bytes, then bits.
      const std::uint64_t first_byte = std::min(round_up(end, 8), field.offset_bits);
      const std::uint64_t bytes = (field.offset_bits - first_byte) / 8;
      layout.hole_bytes += bytes;
      layout.hole_bits += field.offset_bits - end - bytes * 8;
    }
    end = std::max(end, field.offset_bits + field.size_bits);
  }
  // The rest contains the virtual bases, at unknown offsets.
  if (body.virtual_bases.empty() && size_bits > end) layout.tail_padding_bits = size_bits - end;
  layout.hole_bits += layout.tail_padding_bits % 8;
}

}  // namespace

TypeFacts facts_of(const ClassBody& body) {
  TypeFacts facts;
  facts.size_bytes = body.size_bytes;
  facts.align_bytes = body.align_bytes;
  facts.is_known = true;
  facts.is_exact = body.is_exact;
  facts.is_pod = body.is_pod;
  facts.is_polymorphic = body.is_polymorphic;
  facts.has_virtual_bases = !body.virtual_bases.empty();
  facts.is_standard_layout = body.is_standard_layout;
  facts.pointers = pointers_in(body);
  facts.is_empty = body.kind != TypeKind::Union && body.virtual_bases.empty();
  facts.layout_hash = mix(body.align_bytes, body.fields.size());
  std::uint64_t end = 0;
  for (const BodyField& field : body.fields) {
    facts.is_empty = facts.is_empty && field.kind == FieldKind::Base && field.facts.is_empty;
    facts.layout_hash = mix(hash_of(field.name, facts.layout_hash),
                            mix(field.offset_bits, field.size_bits * 8 + static_cast<std::uint64_t>(field.kind)));
    if (field.kind != FieldKind::VirtualBase) end = std::max(end, round_up(field.offset_bits + field.size_bits, 8) / 8);
  }
  const bool keeps_padding = body.kind == TypeKind::Union || (body.is_pod && !facts.has_virtual_bases);
  facts.data_bytes = keeps_padding ? body.size_bytes : std::min(end, body.size_bytes);
  facts.narrow = {facts.size_bytes, facts.data_bytes, facts.align_bytes};
  if (facts.pointers != 0) facts.narrow = narrow_of(body, understand(body));
  return facts;
}

TypeLayout layout_of(const ClassBody& body) {
  TypeLayout layout;
  layout.kind = body.kind;
  layout.language = body.language;
  layout.size_bytes = body.size_bytes;
  layout.align_bytes = body.align_bytes;
  for (const BodyField& field : body.fields) {
    layout.fields.push_back(
        {std::string(field.name), {}, field.kind, field.offset_bits, field.size_bits, field.align_bytes});
  }
  layout.cache_lines = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(round_up(body.size_bytes * 8, kCacheLineBits) / kCacheLineBits, 1u << 30));
  layout.is_standard_layout = body.is_standard_layout;
  layout.is_polymorphic = body.is_polymorphic;
  find_holes(body, layout);
  const Understood understood = understand(body);
  layout.order_state = understood.state;
  layout.reordered_bytes = body.size_bytes;
  layout.pointers = pointers_in(body);
  layout.narrow_bytes = layout.pointers == 0 ? body.size_bytes : narrow_of(body, understood).size_bytes;
  if (understood.state == OrderState::Movable) {
    const Model wide = model_of(body, Pointers::Wide, understood.last_base);
    const ProposedOrder best = propose_order(wide.parts, wide.around);
    layout.reordered_bytes = best.size_bytes;
    layout.order = order_of_fields(body, wide, best.order);
    layout.narrow_reordered_bytes = layout.reordered_bytes;
    layout.narrow_order = layout.order;
    if (layout.pointers != 0) {
      const Model narrow = model_of(body, Pointers::Narrow, understood.last_base);
      const ProposedOrder proposed = propose_order(narrow.parts, narrow.around);
      layout.narrow_reordered_bytes = std::min(proposed.size_bytes, layout.narrow_bytes);
      layout.narrow_order = order_of_fields(body, narrow, proposed.order);
    }
  } else {
    layout.narrow_reordered_bytes = layout.narrow_bytes;
  }
  return layout;
}

}  // namespace tare::core
