// From the root down, a frame a round. A stack leaves when it enters a branch that is too small.
#include "core/recording/stacks/large_branches.h"

#include <algorithm>
#include <cstddef>

#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"

namespace tare::core {
namespace {

// A stack on its way down.
struct Cursor {
  trace::StackId caller;  // whose frames come next
  std::uint32_t at;       // in `frames`
  std::span<const std::uint32_t> frames;
  std::int64_t amount;
  std::uint32_t branch;  // where it is
};

class Descent {
 public:
  Descent(const FrameTree& names, std::int64_t least) : names_(names), least_(least), branches_(1) {}

  void add(trace::StackId stack, std::int64_t amount) {
    branches_[FrameTree::kRoot].amount += amount;
    Cursor cursor{trace::kEmptyStack, 0, {}, amount, FrameTree::kRoot};
    enter(cursor, stack, true);
    cursors_.push_back(cursor);
  }

  std::vector<Branch> run() {
    while (!cursors_.empty()) descend();
    return std::move(branches_);
  }

 private:
  void enter(Cursor& cursor, trace::StackId stack, bool is_innermost) const {
    const std::span<const trace::StackNode> nodes = names_.nodes();
    cursor.caller = trace::kEmptyStack;
    cursor.at = 0;
    cursor.frames = {};
    if (stack == trace::kEmptyStack || trace::index(stack) >= nodes.size()) return;
    const trace::StackNode node = nodes[trace::index(stack)];
    cursor.frames = names_.frames_of(node.row, is_innermost);
    // A caller's id is smaller; a damaged trace may have another.
    if (trace::index(node.caller) < trace::index(stack)) cursor.caller = node.caller;
  }

  // False: the stack ends here.
  bool advance(Cursor& cursor, std::uint32_t& frame) const {
    while (cursor.at == cursor.frames.size()) {
      if (cursor.caller == trace::kEmptyStack) return false;
      enter(cursor, cursor.caller, false);
    }
    frame = cursor.frames[cursor.at++];
    return true;
  }

  void descend() {
    std::vector<Branch> below;
    trace::IdTable by_parent_and_frame;
    std::size_t kept = 0;
    for (Cursor& cursor : cursors_) {
      std::uint32_t frame;
      if (!advance(cursor, frame)) continue;
      const std::uint32_t parent = cursor.branch;
      cursor.branch = by_parent_and_frame.find_or_make(
          trace::mix_hash(parent, frame),
          [&](std::uint32_t node) { return below[node].parent == parent && below[node].frame == frame; },
          [&] {
            below.push_back({0, 0, parent, frame, 0, 0});
            return static_cast<std::uint32_t>(below.size() - 1);
          });
      below[cursor.branch].amount += cursor.amount;
      cursors_[kept++] = cursor;
    }
    cursors_.resize(kept);

    constexpr std::uint32_t kSmall = FrameTree::kRoot;  // no node is above the root
    std::vector<std::uint32_t> places;
    for (const Branch& branch : below) {
      if (branch.amount >= least_) {
        places.push_back(static_cast<std::uint32_t>(branches_.size()));
        branches_.push_back(branch);
      } else {
        places.push_back(kSmall);
        ++branches_[branch.parent].small_branches;
        branches_[branch.parent].small_amount += branch.amount;
      }
    }
    for (Cursor& cursor : cursors_) cursor.branch = places[cursor.branch];
    std::erase_if(cursors_, [](const Cursor& cursor) { return cursor.branch == kSmall; });
  }

  const FrameTree& names_;
  std::int64_t least_;
  std::vector<Branch> branches_;
  std::vector<Cursor> cursors_;  // in the order of the stacks
};

}  // namespace

std::vector<Branch> large_branches(const FrameTree& names, std::span<const trace::StackId> stacks,
                                   std::span<const std::int64_t> amounts, std::int64_t least) {
  Descent descent(names, least);
  for (std::size_t i = 0; i < stacks.size(); ++i) descent.add(stacks[i], amounts[i]);
  return descent.run();
}

}  // namespace tare::core
