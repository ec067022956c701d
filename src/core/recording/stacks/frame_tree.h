// Stacks as one tree of frames, from the outermost call or from the innermost: for files of other tools that have
// trees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/recording/stacks/stack_texts.h"
#include "trace/base/large_vector.h"
#include "trace/model/event.h"
#include "trace/model/id_table.h"
#include "trace/model/ids.h"

namespace tare::core {

class FrameTree {
 public:
  static constexpr std::uint32_t kRoot = 0;  // its frame is no frame

  // `order`: which end of a stack is at the root. `nodes` must outlive this.
  FrameTree(std::span<const trace::StackNode> nodes, StackOrder order);

  // Numbers of a row's frames, innermost first; `innermost`: those as the innermost row of a stack.
  void name(trace::RowId row, std::vector<std::uint32_t> frames, std::vector<std::uint32_t> innermost);

  // The stack's node, with an amount more.
  std::uint32_t add(trace::StackId stack, std::int64_t amount);

  // By node; parents come before their children.
  const trace::LargeVector<std::uint32_t>& parents() const { return parents_; }
  const trace::LargeVector<std::uint32_t>& frames() const { return frames_; }
  const trace::LargeVector<std::int64_t>& amounts() const { return amounts_; }
  std::vector<std::int64_t> whole_amounts() const;  // with those of all nodes below
  const std::vector<std::uint32_t>& frames_of(trace::RowId row, bool is_innermost) const;  // of its name
  std::span<const trace::StackNode> nodes() const { return nodes_; }
  std::vector<std::uint32_t> depth_first() const;  // all nodes: each before its children, children in their order

 private:
  struct Frames {
    std::vector<std::uint32_t> all, innermost;
  };
  std::uint32_t child(std::uint32_t parent, std::uint32_t frame);

  std::span<const trace::StackNode> nodes_;
  StackOrder order_;
  std::vector<Frames> rows_;
  trace::LargeVector<std::uint32_t> parents_, frames_;
  trace::LargeVector<std::int64_t> amounts_;
  trace::IdTable children_;  // nodes by parent and frame
  // Outermost call at the root: the node of a stack as somebody's caller, + 1. Callers that stacks share are visited
  // once.
  trace::LargeVector<std::uint32_t> node_of_caller_;
};

}  // namespace tare::core
