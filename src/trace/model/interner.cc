// The slow paths of the interner: hash look-ups and new entries.
#include "trace/model/interner.h"

#include <algorithm>
#include <bit>

namespace tare::trace {

Interner::Interner(Dictionary& dictionary, const DictionaryCeiling& ceiling)
    : dictionary_(dictionary), ceiling_(ceiling), edges_(kFirstEdges) {
  if (dictionary_.stacks.empty()) dictionary_.stacks.push_back({kEmptyStack, RowId{0}});
  first_children_.resize(dictionary_.stacks.size());
  for (std::size_t id = 1; id < dictionary_.stacks.size(); ++id) {
    const StackNode& stack = dictionary_.stacks[id];
    Child& first = first_children_[index(stack.caller)];
    if (first.node == kEmptyStack) {
      first = {stack.row, StackId{static_cast<std::uint32_t>(id)}};
      continue;
    }
    stack_table_.find_or_make(
        mix_hash(index(stack.caller), index(stack.row)), [](std::uint32_t) { return false; },
        [&] { return static_cast<std::uint32_t>(id); });
  }
  for (std::size_t id = 0; id < dictionary_.shapes.size(); ++id) {
    const Shape& shape = dictionary_.shapes[id];
    shape_table_.find_or_make(
        hash(words_of(shape)), [](std::uint32_t) { return false; }, [&] { return static_cast<std::uint32_t>(id); });
  }
}

void Interner::widen() {
  while (edges_.size() < kEdges && edges_.size() < 2 * dictionary_.stacks.size()) edges_.resize(2 * edges_.size());
  edges_.assign(edges_.size(), {});
  edge_mask_ = edges_.size() - 1;
}

StackId Interner::add_stack(StackId caller, RowId row) {
  const StackId node{static_cast<std::uint32_t>(dictionary_.stacks.size())};
  append(dictionary_.stacks, {caller, row});
  append(first_children_, {});
  return node;
}

StackId Interner::find_stack(std::uint64_t hash, StackId caller, RowId row) {
  const bool is_full = dictionary_.stacks.size() >= ceiling_.stacks;
  if (first_children_[index(caller)].node == kEmptyStack) {
    if (is_full) return kNoStack;
    const StackId node = add_stack(caller, row);
    first_children_[index(caller)] = {row, node};
    return node;
  }
  const auto is_it = [&](std::uint32_t candidate) {
    const StackNode& node = dictionary_.stacks[candidate];
    return node.caller == caller && node.row == row;
  };
  const std::uint32_t id = is_full
                               ? stack_table_.find(hash, is_it)
                               : stack_table_.find_or_make(hash, is_it, [&] { return index(add_stack(caller, row)); });
  if (id == IdTable::kNone) return kNoStack;
  edges_[hash & edge_mask_] = {caller, row, StackId{id}};
  return StackId{id};
}

std::uint32_t Interner::find_shape(const ShapeWords& shape, std::uint64_t hash) const {
  return shape_table_.find(
      hash, [&](std::uint32_t candidate) { return equal(words_of(dictionary_.shapes[candidate]), shape); });
}

namespace {

// Eight sizes between a power of two and the next.
std::uint64_t rounded_up(std::uint64_t bytes) {
  if (bytes < 16) return bytes;
  const std::uint64_t step = std::bit_floor(bytes) / 8;
  const std::uint64_t rounded = (bytes + step - 1) / step * step;
  return rounded < bytes ? bytes : rounded;
}

}  // namespace

ShapeId Interner::folded_shape(const ShapeWords& shape, std::uint64_t hash) {
  if (const std::uint32_t known = find_shape(shape, hash); known != IdTable::kNone) return ShapeId{known};
  ++folded_.no_stacks;
  Shape folded = std::bit_cast<Shape>(shape);
  folded.stack = kEmptyStack;
  const ShapeWords without = words_of(folded);
  const std::uint64_t hash_without = Interner::hash(without);
  if (dictionary_.shapes.size() < ceiling_.shapes + ceiling_.shapes_without_stack) {
    return find_or_add(without, hash_without);
  }
  if (const std::uint32_t known = find_shape(without, hash_without); known != IdTable::kNone) return ShapeId{known};
  ++folded_.sizes;
  const std::uint64_t requested = folded.requested_bytes;
  folded.requested_bytes = rounded_up(requested);
  folded.usable_bytes = std::max(rounded_up(folded.usable_bytes), folded.requested_bytes);
  folded.weight = static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(folded.weight)));
  folded_.rounding_bytes += folded.requested_bytes - requested;
  const ShapeWords rounded = words_of(folded);
  return find_or_add(rounded, Interner::hash(rounded));
}

}  // namespace tare::trace
