// The kernel's counters for this process's memory, read without touching the heap.
#pragma once

#include <cstdint>

namespace tare::perform {

std::uint64_t resident_bytes();  // cheap; the kernel counts in batches
// By a walk over the page tables, which takes 1 ms for 100 MB. Code that is read from files comes in 64 KiB pieces,
// which would hide small changes of the heap: all of that is anonymous.
struct ExactUse {
  std::uint64_t resident_bytes;
  std::uint64_t anonymous_bytes;
};
ExactUse exact_use();

// At most, since `before`: the greatest of the exact readings `seen` and now, unless the kernel's peak is certainly
// above them.
std::uint64_t peak_heap_bytes(std::uint64_t threads, const ExactUse& before, std::uint64_t seen);

}  // namespace tare::perform
