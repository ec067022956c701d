// Two dictionaries as one: a process's own, followed by what of its parent's it inherited blocks from.
#pragma once

#include <vector>

#include "trace/dictionary.h"

namespace tare::core {

// The same module, row or stack in both becomes one, so that an inherited block and one of the child's own at the same
// site have the same stack.
struct DictionaryUnion {
  trace::Dictionary dictionary;          // modules, rows, stacks; ids of `own` stay as they are; no shapes
  std::vector<trace::StackId> stack_of;  // by StackId of `other`; the empty stack where it wasn't needed
};

DictionaryUnion unite(const trace::Dictionary& own, const trace::Dictionary& other);

}  // namespace tare::core
