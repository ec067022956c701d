// Cells of the heap, and where blocks begin in them: see block_index.h.
#include "core/snapshot/block_index.h"

#include <algorithm>
#include <bit>

namespace tare::core {
namespace {

std::uint64_t last_byte(const LiveBlock& block) {
  return block.address + std::max<std::uint64_t>(block.usable_bytes, 1) - 1;
}

}  // namespace

BlockIndex::BlockIndex(std::span<const LiveBlock> blocks) : blocks_(blocks) {
  if (blocks.empty()) return;
  low_ = blocks.front().address;
  std::uint64_t high = low_;
  std::uint64_t next_cell = 0;  // of the run under way
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const std::uint64_t address = blocks[i].address;
    high = std::max(high, last_byte(blocks[i]) + 1);
    if (address % (1u << kUnitShift) != 0) are_odd_ = true;
    const std::uint64_t cell = address >> kCellShift;
    if (runs_.empty() || cell > next_cell + kLargestGap) {
      runs_.push_back({cell, cells_.size()});
      next_cell = cell;
    }
    for (; next_cell <= cell; ++next_cell) cells_.push_back({0, i});
    cells_.back().starts |= std::uint64_t{1} << (address >> kUnitShift) % 64;
  }
  span_ = high - low_;
}

BlockIndex::Hit BlockIndex::inside(std::uint32_t block, std::uint64_t address) const {
  if (address > last_byte(blocks_[block])) return {};
  return {block, address == blocks_[block].address};
}

BlockIndex::Hit BlockIndex::find_among_all(std::uint64_t address) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), address,
                                      [](std::uint64_t wanted, const LiveBlock& one) { return wanted < one.address; });
  if (after == blocks_.begin()) return {};
  return inside(static_cast<std::uint32_t>(after - blocks_.begin() - 1), address);
}

BlockIndex::Hit BlockIndex::find_near(std::uint64_t address) const {
  if (are_odd_) [[unlikely]]
    return find_among_all(address);
  // Heaps are few runs; the last that begins at or before the cell. There is one: below the first is no block.
  const std::uint64_t cell = address >> kCellShift;
  auto run = std::upper_bound(runs_.begin(), runs_.end(), cell,
                              [](std::uint64_t wanted, const Run& one) { return wanted < one.first_cell; });
  const std::size_t end = run == runs_.end() ? cells_.size() : run->at;
  --run;
  const std::uint64_t at = run->at + (cell - run->first_cell);
  if (at >= end) {  // behind the run's last start
    const Cell& last = cells_[end - 1];
    return inside(last.before + static_cast<std::uint32_t>(std::popcount(last.starts)) - 1, address);
  }
  const std::uint64_t bit = std::uint64_t{1} << (address >> kUnitShift) % 64;
  const std::uint64_t until = cells_[at].starts & (bit | (bit - 1));
  const std::uint32_t begun = cells_[at].before + static_cast<std::uint32_t>(std::popcount(until));
  if (begun == 0) return {};
  if ((until & bit) != 0 && address % (1u << kUnitShift) == 0) return {begun - 1, true};
  return inside(begun - 1, address);
}

}  // namespace tare::core
