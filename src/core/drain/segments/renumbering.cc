// Old ids to new ones: see renumbering.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/segments/renumbering.h"

namespace tare::core {

using namespace trace;

Renumbering::Renumbering(const Dictionary& from)
    : from_(from), stacks_(from.stacks.size()), shapes_(from.shapes.size()) {
  to_.modules = from.modules;
  to_.rows = from.rows;
  to_.names = from.names;
  to_.given_frames = from.given_frames;
  to_.stacks.push_back({kEmptyStack, RowId{0}});
}

StackId Renumbering::stack(StackId old) {
  std::vector<std::uint32_t> unknown;  // the innermost first
  std::uint32_t at = index(old);
  for (; at != index(kEmptyStack) && stacks_[at] == 0; at = index(from_.stacks[at].caller)) unknown.push_back(at);
  std::uint32_t known = at == index(kEmptyStack) ? 0 : stacks_[at];
  for (auto node = unknown.rbegin(); node != unknown.rend(); ++node) {
    append(to_.stacks, StackNode{StackId{known}, from_.stacks[*node].row});
    known = static_cast<std::uint32_t>(to_.stacks.size() - 1);
    stacks_[*node] = known;
  }
  return StackId{known};
}

ShapeId Renumbering::shape(ShapeId old) {
  std::uint32_t& place = shapes_[index(old)];
  if (place == 0) {
    Shape shape = from_.shapes[index(old)];
    shape.stack = stack(shape.stack);
    append(to_.shapes, shape);
    place = static_cast<std::uint32_t>(to_.shapes.size());
  }
  return ShapeId{place - 1};
}

void Renumbering::renumber(Event& event) {
  if (event.shape == kNoShape) return;
  switch (event.kind) {
    case EventKind::Alloc:
    case EventKind::ReallocStart:
    case EventKind::Map:
    case EventKind::Unmap:
    case EventKind::PoolGrow:
    case EventKind::PoolAlloc:
    case EventKind::ReportSite:
    case EventKind::FailedRequest:
    case EventKind::CallCost:
      event.shape = shape(event.shape);
      break;
    case EventKind::Free:
    case EventKind::ReallocEnd:
      event.shape = ShapeId{index(stack(StackId{index(event.shape)}))};
      break;
    default:  // a name, a number of bytes, or nothing
      break;
  }
}

}  // namespace tare::core
