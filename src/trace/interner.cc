// The slow paths of the interner: hash look-ups and new entries.
#include "trace/interner.h"

namespace tare::trace {

Interner::Interner(Dictionary& dictionary) : dictionary_(dictionary), edges_(kEdges) {
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

StackId Interner::add_stack(StackId caller, RowId row) {
  const StackId node{static_cast<std::uint32_t>(dictionary_.stacks.size())};
  append(dictionary_.stacks, {caller, row});
  append(first_children_, {});
  return node;
}

StackId Interner::find_stack(std::uint64_t hash, StackId caller, RowId row) {
  if (first_children_[index(caller)].node == kEmptyStack) {
    const StackId node = add_stack(caller, row);
    first_children_[index(caller)] = {row, node};
    return node;
  }
  const std::uint32_t id = stack_table_.find_or_make(
      hash,
      [&](std::uint32_t candidate) {
        const StackNode& node = dictionary_.stacks[candidate];
        return node.caller == caller && node.row == row;
      },
      [&] { return index(add_stack(caller, row)); });
  edges_[hash & (kEdges - 1)] = {caller, row, StackId{id}};
  return StackId{id};
}

}  // namespace tare::trace
