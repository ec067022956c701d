// A hash table of (parent, frame), and a memory of callers.
#include "core/recording/stacks/frame_tree.h"

#include <ranges>
#include <utility>

#include "trace/base/mix_hash.h"

namespace tare::core {

FrameTree::FrameTree(std::span<const trace::StackNode> nodes, StackOrder order) : nodes_(nodes), order_(order) {
  parents_.push_back(0);
  frames_.push_back(0);
  amounts_.push_back(0);
  if (order_ == StackOrder::OutermostFirst) node_of_caller_.resize(nodes.size());
}

void FrameTree::name(trace::RowId row, std::vector<std::uint32_t> frames, std::vector<std::uint32_t> innermost) {
  if (trace::index(row) >= rows_.size()) rows_.resize(trace::index(row) + std::size_t{1});
  rows_[trace::index(row)] = {std::move(frames), std::move(innermost)};
}

const std::vector<std::uint32_t>& FrameTree::frames_of(trace::RowId row, bool is_innermost) const {
  static const std::vector<std::uint32_t> kNone;
  if (trace::index(row) >= rows_.size()) return kNone;
  return is_innermost ? rows_[trace::index(row)].innermost : rows_[trace::index(row)].all;
}

std::uint32_t FrameTree::child(std::uint32_t parent, std::uint32_t frame) {
  return children_.find_or_make(
      trace::mix_hash(parent, frame),
      [&](std::uint32_t node) { return parents_[node] == parent && frames_[node] == frame; },
      [&] {
        parents_.push_back(parent);
        frames_.push_back(frame);
        amounts_.push_back(0);
        return static_cast<std::uint32_t>(parents_.size() - 1);
      });
}

std::uint32_t FrameTree::add(trace::StackId stack, std::int64_t amount) {
  std::uint32_t node = kRoot;
  if (order_ == StackOrder::InnermostFirst) {
    bool is_innermost = true;
    for_each_row(nodes_, stack, [&](trace::RowId row) {
      for (const std::uint32_t frame : frames_of(row, is_innermost)) node = child(node, frame);
      is_innermost = false;
    });
  } else if (stack != trace::kEmptyStack && trace::index(stack) < nodes_.size()) {
    // The callers without a node yet, innermost first; then down from the first that has one.
    std::vector<trace::StackId> unknown;
    const auto caller_of = [&](trace::StackId of) {
      const trace::StackId caller = nodes_[trace::index(of)].caller;
      return trace::index(caller) < trace::index(of) ? caller : trace::kEmptyStack;
    };
    trace::StackId caller = caller_of(stack);
    while (caller != trace::kEmptyStack && node_of_caller_[trace::index(caller)] == 0) {
      unknown.push_back(caller);
      caller = caller_of(caller);
    }
    if (caller != trace::kEmptyStack) node = node_of_caller_[trace::index(caller)] - 1;
    const auto descend = [&](trace::StackId to, bool is_innermost) {
      for (const std::uint32_t frame : std::views::reverse(frames_of(nodes_[trace::index(to)].row, is_innermost)))
        node = child(node, frame);
    };
    for (const trace::StackId each : std::views::reverse(unknown)) {
      descend(each, false);
      node_of_caller_[trace::index(each)] = node + 1;
    }
    descend(stack, true);
  }
  amounts_[node] += amount;
  return node;
}

std::vector<std::int64_t> FrameTree::whole_amounts() const {
  std::vector<std::int64_t> whole(amounts_.begin(), amounts_.end());
  for (std::size_t node = whole.size() - 1; node > 0; --node) whole[parents_[node]] += whole[node];
  return whole;
}

std::vector<std::uint32_t> FrameTree::depth_first() const {
  // Children as linked lists, the first one first: built from the last node backwards.
  std::vector<std::uint32_t> first_child(parents_.size()), next_sibling(parents_.size());
  for (std::size_t node = parents_.size() - 1; node > 0; --node) {
    next_sibling[node] = std::exchange(first_child[parents_[node]], static_cast<std::uint32_t>(node));
  }
  std::vector<std::uint32_t> order;
  order.reserve(parents_.size());
  for (std::uint32_t node = kRoot;;) {
    order.push_back(node);
    if (first_child[node] != 0) {
      node = first_child[node];
      continue;
    }
    while (node != kRoot && next_sibling[node] == 0) node = parents_[node];
    if (node == kRoot) return order;
    node = next_sibling[node];
  }
}

}  // namespace tare::core
