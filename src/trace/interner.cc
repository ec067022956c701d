// The slow paths of the interner: hash look-ups and new entries.
#include "trace/interner.h"

#include <bit>

namespace tare::trace {

Interner::Interner(Dictionary& dictionary) : dictionary_(dictionary) {
  if (dictionary_.stacks.empty()) dictionary_.stacks.push_back({kEmptyStack, RowId{0}});
  nodes_.reserve(dictionary_.stacks.size());
  for (const StackNode& stack : dictionary_.stacks) {
    const std::size_t id = nodes_.size();
    nodes_.push_back({stack.caller, stack.row, RowId{0}, kEmptyStack});
    last_shapes_.push_back(kNoShape);
    if (id == 0) continue;
    stack_table_.find_or_make(
        mix_hash(index(stack.caller), index(stack.row)), [](std::uint32_t) { return false; },
        [&] { return static_cast<std::uint32_t>(id); });
  }
  for (std::size_t id = 0; id < dictionary_.shapes.size(); ++id) {
    const Shape& shape = dictionary_.shapes[id];
    last_shapes_[index(shape.stack)] = ShapeId{static_cast<std::uint32_t>(id)};
    shape_table_.find_or_make(
        mix_hash(mix_hash(index(shape.stack), shape.requested_bytes), shape.usable_bytes),
        [](std::uint32_t) { return false; }, [&] { return static_cast<std::uint32_t>(id); });
  }
}

bool Interner::same(const Shape& a, const Shape& b) {
  return a.stack == b.stack && a.requested_bytes == b.requested_bytes && a.usable_bytes == b.usable_bytes &&
         a.api == b.api && a.align_log2 == b.align_log2 && a.is_map == b.is_map &&
         std::bit_cast<std::uint64_t>(a.weight) == std::bit_cast<std::uint64_t>(b.weight);
}

StackId Interner::find_stack(Node& node, StackId caller, RowId row) {
  bool made = false;
  const std::uint32_t id = stack_table_.find_or_make(
      mix_hash(index(caller), index(row)),
      [&](std::uint32_t candidate) { return nodes_[candidate].caller == caller && nodes_[candidate].row == row; },
      [&] {
        made = true;
        return static_cast<std::uint32_t>(nodes_.size());
      });
  node.last_row = row;
  node.last_child = StackId{id};
  if (made) {  // last: it moves `node`
    dictionary_.stacks.push_back({caller, row});
    nodes_.push_back({caller, row, RowId{0}, kEmptyStack});
    last_shapes_.push_back(kNoShape);
  }
  return StackId{id};
}

ShapeId Interner::find_shape(const Shape& shape) {
  const std::uint32_t id = shape_table_.find_or_make(
      mix_hash(mix_hash(index(shape.stack), shape.requested_bytes), shape.usable_bytes),
      [&](std::uint32_t candidate) { return same(dictionary_.shapes[candidate], shape); },
      [&] {
        dictionary_.shapes.push_back(shape);
        return static_cast<std::uint32_t>(dictionary_.shapes.size() - 1);
      });
  last_shapes_[index(shape.stack)] = ShapeId{id};
  return ShapeId{id};
}

}  // namespace tare::trace
