// Finds the live block that an address points to. It is called for every word of the heap, and nearly all answers need
// one read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/analysis/live_block.h"

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
    return find_near(address);
  }

 private:
  // 512 bytes, in which blocks begin at multiples of 8. Their number is the block: a start is found without reading the
  // block itself, which mostly isn't in the cache.
  struct Cell {
    std::uint64_t starts = 0;  // a bit for each 8 bytes
    std::uint32_t before = 0;  // blocks that begin before the cell
  };
  static constexpr int kCellShift = 9;
  static constexpr int kUnitShift = 3;
  // Neighbouring cells; the space between two runs is at most the last block of the first.
  struct Run {
    std::uint64_t first_cell;
    std::size_t at;  // in cells_
  };
  static constexpr std::uint64_t kLargestGap = 64;  // cells; beyond, a new run

  Hit find_near(std::uint64_t address) const;
  Hit find_among_all(std::uint64_t address) const;
  Hit inside(std::uint32_t block, std::uint64_t address) const;

  std::span<const LiveBlock> blocks_;
  std::uint64_t low_ = 0;
  std::uint64_t span_ = 0;
  bool are_odd_ = false;   // some begin at other addresses: an allocator of the program's own, and no cells
  std::vector<Run> runs_;  // ascending
  std::vector<Cell> cells_;
};

}  // namespace tare::core
