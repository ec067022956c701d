// Which live block an address points to: asked for every word of the heap, so nearly all answers are one look.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/replay/live_block.h"

namespace tare::core {

class BlockIndex {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  // By address, ascending; must outlive the index.
  explicit BlockIndex(std::span<const LiveBlock> blocks);

  struct Hit {
    std::uint32_t block = kNone;
    bool is_start = false;
  };
  // The block that holds `address` among its usable bytes.
  Hit find(std::uint64_t address) const {
    if (address - low_ >= span_) return {};
    return find_in_page(address);
  }

 private:
  static constexpr int kPageShift = 12;
  // Neighbouring pages with blocks, and for each of them the first block that reaches into it or begins after.
  struct Run {
    std::uint64_t first_page;
    std::uint64_t pages;
    std::size_t at;  // in first_block_
  };
  static constexpr std::uint64_t kLargestGap = 64;  // pages; beyond, a new run

  Hit find_in_page(std::uint64_t address) const;

  std::span<const LiveBlock> blocks_;
  std::uint64_t low_ = 0;
  std::uint64_t span_ = 0;
  std::vector<Run> runs_;  // ascending
  std::vector<std::uint32_t> first_block_;
};

}  // namespace tare::core
