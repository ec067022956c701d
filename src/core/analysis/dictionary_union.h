// Two dictionaries joined: a process's own, followed by the part of its parent's that inherited blocks need.
#pragma once

#include <span>
#include <vector>

#include "trace/model/dictionary.h"

namespace tare::core {

// The same module, row or stack in both becomes one, so that an inherited block and one of the child's own at the same
// site have the same stack.
struct DictionaryUnion {
  trace::Dictionary dictionary;          // modules, rows, stacks; ids of `own` stay as they are; no shapes
  std::vector<trace::StackId> stack_of;  // by StackId of `other`; the empty stack where it wasn't needed
};

DictionaryUnion unite(const trace::Dictionary& own, const trace::Dictionary& other);
// The same, with only the entries that these shapes of `other` need.
DictionaryUnion unite(const trace::Dictionary& own, const trace::Dictionary& other,
                      std::span<const trace::Shape> shapes);

}  // namespace tare::core
