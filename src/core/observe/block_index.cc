// Pages of the heap, and where their blocks begin: see block_index.h.
#include "core/observe/block_index.h"

#include <algorithm>

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
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::uint64_t first = blocks[i].address >> kPageShift;
    const std::uint64_t last = last_byte(blocks[i]) >> kPageShift;
    high = std::max(high, last_byte(blocks[i]) + 1);
    if (runs_.empty() || first > runs_.back().first_page + runs_.back().pages + kLargestGap) {
      runs_.push_back({first, 0, first_block_.size()});
    }
    Run& run = runs_.back();
    // Pages up to this block's last that no earlier block reached: what is asked of them begins with this one.
    const std::uint64_t wanted = last + 1 - run.first_page;
    if (wanted > run.pages) {
      first_block_.resize(run.at + wanted, static_cast<std::uint32_t>(i));
      run.pages = wanted;
    }
  }
  span_ = high - low_;
}

BlockIndex::Hit BlockIndex::find_in_page(std::uint64_t address) const {
  const std::uint64_t page = address >> kPageShift;
  // Heaps are few runs; the last that begins at or before the page.
  auto run = std::upper_bound(runs_.begin(), runs_.end(), page,
                              [](std::uint64_t wanted, const Run& one) { return wanted < one.first_page; });
  if (run == runs_.begin()) return {};
  --run;
  if (page - run->first_page >= run->pages) return {};
  // At most 256 blocks of 16 bytes begin in a page: the last at or before the address.
  std::uint32_t at = first_block_[run->at + (page - run->first_page)];
  const std::uint32_t end = page + 1 - run->first_page < run->pages
                                ? std::min<std::uint32_t>(first_block_[run->at + (page + 1 - run->first_page)] + 1,
                                                          static_cast<std::uint32_t>(blocks_.size()))
                                : static_cast<std::uint32_t>(blocks_.size());
  std::uint32_t high = std::max(end, at);
  while (at < high) {
    const std::uint32_t middle = at + (high - at) / 2;
    if (blocks_[middle].address <= address) {
      at = middle + 1;
    } else {
      high = middle;
    }
  }
  if (at == 0) return {};
  const LiveBlock& block = blocks_[at - 1];
  if (address < block.address || address > last_byte(block)) return {};
  return {at - 1, address == block.address};
}

}  // namespace tare::core
