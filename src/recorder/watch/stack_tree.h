// The stacks of a watched process, as a tree of frames in the watch file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/spool/spool.h"
#include "trace/watch/watch_layout.h"

namespace tare::recorder {

// The nodes lie in the file and are only appended. The index that finds them is memory of the process's own, which
// doubles as they grow. One caller at a time.
class StackTree {
 public:
  // For a file without nodes. False: no memory.
  bool begin(Spool& spool);
  // In a forked child: its file begins with the nodes of its parent's.
  bool take_over(Spool& spool, Spool& parent);

  // The id of the stack of `rows`, innermost first. If there is no room for all of them, the outermost that are there,
  // and `is_cut`.
  std::uint32_t intern(const std::uint32_t* rows, std::uint32_t count, bool& is_cut);

  std::uint32_t count() const { return count_; }

 private:
  static constexpr std::uint32_t kFirstEntries = 4096;  // 16 KiB

  std::uint32_t child(std::uint32_t parent, std::uint32_t row);  // 0: no room
  bool grow();
  static std::uint64_t hash(std::uint32_t parent, std::uint32_t row) {
    return (std::uint64_t{parent} << 32 | row) * 0x9e3779b97f4a7c15;
  }

  Spool* spool_ = nullptr;
  trace::WatchNode* nodes_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t* index_ = nullptr;  // ids
  std::uint32_t entries_ = 0;       // of the index, a power of two
};

}  // namespace tare::recorder
