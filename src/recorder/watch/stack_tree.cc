// Interning stacks: see stack_tree.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/watch/stack_tree.h"

#include <cstring>

#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

bool StackTree::begin(Spool& spool) {
  spool_ = &spool;
  nodes_ = reinterpret_cast<trace::WatchNode*>(spool.base(WatchArea::Nodes));
  count_ = 0;
  if (index_ != nullptr) std::memset(index_, 0, entries_ * sizeof(std::uint32_t));
  return index_ != nullptr || grow();
}

bool StackTree::take_over(Spool& spool, Spool& parent) {
  const auto* from = reinterpret_cast<const trace::WatchNode*>(parent.base(WatchArea::Nodes));
  const std::uint64_t bytes = count_ * sizeof(trace::WatchNode);
  if (from == nullptr || !spool.ensure(WatchArea::Nodes, bytes)) return false;
  spool_ = &spool;
  nodes_ = reinterpret_cast<trace::WatchNode*>(spool.base(WatchArea::Nodes));
  std::memcpy(nodes_, from, bytes);
  return true;
}

bool StackTree::grow() {
  const std::uint32_t entries = entries_ == 0 ? kFirstEntries : 2 * entries_;
  const std::uint32_t before_entries = entries_;
  auto* const index = static_cast<std::uint32_t*>(reserve_zeroed(entries * sizeof(std::uint32_t)));
  if (index == nullptr) return false;
  for (std::uint32_t id = 1; id <= count_; ++id) {
    std::uint64_t at = hash(nodes_[id - 1].parent, nodes_[id - 1].row);
    for (at >>= 32;; ++at) {
      std::uint32_t& entry = index[at & (entries - 1)];
      if (entry != 0) continue;
      entry = id;
      break;
    }
  }
  std::uint32_t* const before = index_;
  index_ = index;
  entries_ = entries;
  if (before != nullptr) give_back(before, before_entries * sizeof(std::uint32_t));
  return true;
}

std::uint32_t StackTree::child(std::uint32_t parent, std::uint32_t row) {
  // Without memory for a greater index, this one goes on filling up.
  if (2 * count_ >= entries_ && count_ < trace::kWatchMaxNodes) grow();
  std::uint64_t at = hash(parent, row) >> 32;
  for (;; ++at) {
    const std::uint32_t id = index_[at & (entries_ - 1)];
    if (id == 0) break;
    const trace::WatchNode& node = nodes_[id - 1];
    if (node.parent == parent && node.row == row) return id;
  }
  const bool is_full = count_ == trace::kWatchMaxNodes || count_ + 1 >= entries_;  // one entry of the index stays empty
  if (is_full || !spool_->ensure(WatchArea::Nodes, (count_ + 1) * sizeof(trace::WatchNode))) {
    return 0;
  }
  const std::uint64_t bits = std::uint64_t{row} << 32 | parent;  // in one store: a reader sees it whole or not at all
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(nodes_ + count_), bits, __ATOMIC_RELEASE);
  index_[at & (entries_ - 1)] = ++count_;
  return count_;
}

std::uint32_t StackTree::intern(const std::uint32_t* rows, std::uint32_t count, bool& is_cut) {
  std::uint32_t node = 0;
  while (count > 0) {
    const std::uint32_t next = child(node, rows[--count] + 1);
    is_cut = next == 0;
    if (is_cut) return node;
    node = next;
  }
  return node;
}

}  // namespace tare::recorder
