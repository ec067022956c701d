// The last allocations of one thread: finds the larger block that took over from one being freed, which is how
// containers grow without realloc (std::vector, std::string: allocate, move the contents, free the old).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "trace/ids.h"

namespace tare::core {

class GrowthRing {
 public:
  // A growing container touches no other memory between its new block and the end of the old one, apart from what
  // moving its elements costs; 8 events leave room for that, and twice as many link unrelated blocks.
  static constexpr std::uint32_t kWindowEvents = 8;

  struct Entry {
    std::uint64_t address;
    trace::ShapeId shape;  // kNoShape: has been used
    std::uint32_t birth;   // serial of the allocation in the process, modulo 2^32
    std::uint32_t serial;  // of the event in its thread
  };

  void allocated(trace::StackId stack, std::uint64_t address, trace::ShapeId shape, std::uint32_t birth) {
    ++serial_;
    const std::uint32_t at = next_++ % kWindowEvents;
    stacks_[at] = trace::index(stack);
    entries_[at] = {address, shape, birth, serial_};
  }
  void something_else() { ++serial_; }

  // The youngest allocation of the last kWindowEvents events that has the freed block's stack, is younger than it and
  // of a shape that `larger` accepts, or null. `now` is the serial of the last allocation in the process.
  template <typename Larger>
  Entry* successor(trace::StackId stack, std::uint32_t birth, std::uint32_t now, Larger&& larger) {
    if (!holds(stack)) [[likely]]
      return nullptr;
    for (std::uint32_t back = 1; back <= kWindowEvents; ++back) {
      const std::uint32_t at = (next_ - back) % kWindowEvents;
      if (stacks_[at] != trace::index(stack)) continue;
      Entry& entry = entries_[at];
      if (serial_ - entry.serial >= kWindowEvents || now - entry.birth >= now - birth) return nullptr;
      if (entry.shape != trace::kNoShape && larger(entry.shape)) return &entry;
    }
    return nullptr;
  }

 private:
  // Asked at every free, and mostly answered no: two vector compares save 53 of the some 330 instructions that an
  // allocation and its free cost together.
  bool holds(trace::StackId stack) const {
    using Lanes = std::uint32_t __attribute__((vector_size(16)));
    Lanes halves[2];
    static_assert(sizeof halves == sizeof stacks_);
    std::memcpy(halves, stacks_.data(), sizeof halves);
    const auto equal = (halves[0] == trace::index(stack)) | (halves[1] == trace::index(stack));
    std::uint64_t words[2];
    std::memcpy(words, &equal, sizeof words);
    return (words[0] | words[1]) != 0;
  }

  static constexpr std::uint32_t kNone = ~0u;
  alignas(32) std::array<std::uint32_t, kWindowEvents> stacks_{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  std::array<Entry, kWindowEvents> entries_{};
  std::uint32_t next_ = 0;
  std::uint32_t serial_ = 0;
};

}  // namespace tare::core
