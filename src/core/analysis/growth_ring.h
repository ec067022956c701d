// The last allocations of one thread: finds the larger block that took over from one being freed, which is how
// containers grow without realloc (std::vector, std::string: allocate, move the contents, free the old).
#pragma once

#include <array>
#include <cstdint>

#include "trace/model/ids.h"
#include "trace/model/seen_counts.h"

namespace tare::core {

class GrowthRing {
 public:
  // A growing container frees nothing between its new block and the old one, and makes only the allocations of its
  // moved elements. Eight allocations leave room for that; sixteen would link unrelated blocks.
  static constexpr std::uint32_t kWindow = 8;

  struct Entry {
    std::uint64_t address;
    trace::ShapeId shape;
    std::uint32_t birth;   // serial of the allocation in the process, modulo 2^32
    std::uint16_t number;  // of the allocation in its thread
    std::uint32_t place;   // of the event, as the caller counts
  };

  void allocated(trace::StackId stack, std::uint64_t address, trace::ShapeId shape, std::uint32_t birth,
                 std::uint32_t place) {
    const std::uint32_t at = next_++ % kWindow;
    stacks_[at] = trace::index(stack);
    entries_[at] = {address, shape, birth, number_++, place};
    signature_ |= bit_of(stack);
    held_ += held_ < kWindow;
  }
  void freed() {
    signature_ = 0;
    held_ = 0;
  }

  // Skips the events since the last one that weren't recorded.
  void skip_to(trace::SeenCounts seen) {
    if (seen.thread_frees != frees_) freed();
    frees_ = seen.thread_frees;
    number_ = seen.thread_allocations;
  }

  // The youngest allocation since the last free, within the window, that has the freed block's stack, is younger than
  // it and of a shape that `larger` accepts, or null. `now` is the serial of the last allocation in the process.
  template <typename Larger>
  const Entry* successor(trace::StackId stack, std::uint32_t birth, std::uint32_t now, Larger&& larger) const {
    if ((signature_ & bit_of(stack)) == 0) [[likely]]
      return nullptr;
    for (std::uint32_t back = 1; back <= held_; ++back) {
      const std::uint32_t at = (next_ - back) % kWindow;
      if (stacks_[at] != trace::index(stack)) continue;
      const Entry& entry = entries_[at];
      const auto distance = static_cast<std::uint16_t>(number_ - entry.number);
      if (distance > kWindow || now - entry.birth >= now - birth) return nullptr;
      if (larger(entry.shape)) return &entry;
    }
    return nullptr;
  }

 private:
  // Checked at every free. One bit of 64 for each stack mostly rules a stack out: comparing and clearing all stacks
  // took 25 of about 280 instructions of an allocation and its free.
  static constexpr std::uint64_t bit_of(trace::StackId stack) {
    return std::uint64_t{1} << (trace::index(stack) * 0x9e3779b1u >> 26);
  }

  std::uint64_t signature_ = 0;  // of the stacks since the last free
  std::uint32_t held_ = 0;       // allocations since then, at most kWindow
  std::array<std::uint32_t, kWindow> stacks_{};
  std::array<Entry, kWindow> entries_{};
  std::uint32_t next_ = 0;
  std::uint16_t number_ = 0;
  std::uint16_t frees_ = 0;
};

}  // namespace tare::core
