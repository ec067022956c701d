// Numbers of the blocks of a size that were freed last, newest first: where an allocator is likely to put the next one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/model/living_blocks.h"

namespace tare::trace {

// Always of full length: kNone fills missing entries.
class FreedBlocks {
 public:
  static constexpr std::uint32_t kDepth = 32;

  FreedBlocks() { clear(); }
  std::uint32_t newest() const { return ring_[head_]; }
  void push(std::uint32_t block) {
    head_ = (head_ + 1) % kDepth;
    ring_[head_] = block;
  }
  void drop_newest() {
    ring_[head_] = LivingBlocks::kNone;
    head_ = (head_ - 1) % kDepth;
  }
  void clear() { ring_.fill(LivingBlocks::kNone); }

 private:
  std::array<std::uint32_t, kDepth> ring_;
  std::uint32_t head_ = 0;
};

}  // namespace tare::trace
