// The counters of a sampling recorder before the event after the note, of recorded and unrecorded calls. Ages, and
// growth by malloc, copy and free, depend on the number of calls in between, which sampled events alone don't have.
#pragma once

#include <cstdint>

namespace tare::trace {

// All modulo their width; only differences mean anything. A realloc counts as an allocation.
struct SeenCounts {
  std::uint32_t allocations;         // of the process
  std::uint16_t thread_allocations;  // of the thread of the next event
  std::uint16_t thread_frees;

  constexpr std::uint64_t word() const {
    return allocations | std::uint64_t{thread_allocations} << 32 | std::uint64_t{thread_frees} << 48;
  }
  static constexpr SeenCounts of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint16_t>(word >> 32),
            static_cast<std::uint16_t>(word >> 48)};
  }
};

}  // namespace tare::trace
