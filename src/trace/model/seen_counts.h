// What a sampling recorder counted, recorded or not, before the event that follows the note: ages and growth by malloc,
// copy and free depend on how much happened in between, which the sampled events alone don't tell.
#pragma once

#include <cstdint>

namespace tare::trace {

// All modulo their width; only differences mean anything. A realloc counts as an allocation.
struct SeenCounts {
  std::uint32_t allocations;         // of the process
  std::uint16_t thread_allocations;  // of the thread whose event follows
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
