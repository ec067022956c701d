// Turns stacks into nodes of one tree and allocations into shapes: what makes an event 24 bytes whatever its stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/dictionary.h"
#include "trace/event.h"
#include "trace/id_table.h"
#include "trace/ids.h"
#include "trace/mix_hash.h"

namespace tare::trace {

// Adds to the Dictionary it was made with; nobody else may add stacks or shapes to that one meanwhile.
class Interner {
 public:
  explicit Interner(Dictionary& dictionary);

  // The node for `row` called from `caller`. Most calls end at the last child seen of that caller.
  StackId stack(StackId caller, RowId row) {
    Node& node = nodes_[index(caller)];
    if (node.last_row == row && node.last_child != kEmptyStack) return node.last_child;
    return find_stack(node, caller, row);
  }

  ShapeId shape(const Shape& shape) {
    const ShapeId last = last_shapes_[index(shape.stack)];
    if (last != kNoShape && same(dictionary_.shapes[index(last)], shape)) return last;
    return find_shape(shape);
  }

 private:
  struct Node {  // beside its key the last child, so that a hit costs one cache line
    StackId caller;
    RowId row;
    RowId last_row;
    StackId last_child;
  };

  static bool same(const Shape& a, const Shape& b);
  StackId find_stack(Node& node, StackId caller, RowId row);
  ShapeId find_shape(const Shape& shape);

  Dictionary& dictionary_;
  std::vector<Node> nodes_;
  std::vector<ShapeId> last_shapes_;  // by StackId
  IdTable stack_table_;
  IdTable shape_table_;
};

}  // namespace tare::trace
