// Live blocks by address: their numbers lie in a shadow of the address space, the blocks in a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/analysis/block_map.h"

namespace tare::core {

template <typename Block>
class AddressMap {
 public:
  // Null: no block lives there. Valid until the next put().
  Block* find(std::uint64_t address) {
    const std::uint64_t word = numbers_.peek(address);
    return BlockMap::is_live(word) ? &blocks_[word >> kNumberShift] : nullptr;
  }

  // At an address where none lives.
  void put(std::uint64_t address, const Block& block) {
    std::uint64_t number = blocks_.size();
    if (free_.empty()) {
      blocks_.push_back(block);
    } else {
      number = free_.back();
      free_.pop_back();
      blocks_[number] = block;
    }
    numbers_.claim(address) = number << kNumberShift | BlockMap::kLiveBits;
  }

  std::optional<Block> take(std::uint64_t address) {
    std::uint64_t* const word = numbers_.find(address);
    if (word == nullptr || !BlockMap::is_live(*word)) return std::nullopt;
    const std::uint64_t number = *word >> kNumberShift;
    *word = BlockMap::kGone;
    free_.push_back(static_cast<std::uint32_t>(number));
    return blocks_[number];
  }

  // The number first, the block some events later.
  [[gnu::always_inline]] void prefetch_number(std::uint64_t address) const { numbers_.prefetch(address); }
  [[gnu::always_inline]] void prefetch_block(std::uint64_t address) const {
    if (const std::uint64_t word = numbers_.peek(address); BlockMap::is_live(word))
      __builtin_prefetch(&blocks_[word >> kNumberShift], 1);
  }

  template <typename Visit>
  void for_each(Visit&& visit) {
    numbers_.for_each_live([&](std::uint64_t, std::uint64_t word) { visit(blocks_[word >> kNumberShift]); });
  }

 private:
  static constexpr int kNumberShift = 32;

  BlockMap numbers_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_;  // numbers
};

}  // namespace tare::core
