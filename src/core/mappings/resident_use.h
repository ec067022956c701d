// Owners of the anonymous memory that was resident at a reading: malloc, the program's own mmap calls, threads' stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "core/mappings/mappings.h"
#include "trace/model/memory_reading.h"

namespace tare::core {

// Sums of resident bytes. The kernel joins neighbours to one range: of a range that malloc and the program share, only
// the bounds of each are known.
struct ResidentUse {
  std::uint64_t heap_bytes = 0;
  std::uint64_t mapping_bytes = 0;   // in proportion to the lengths
  std::uint64_t mapping_spread = 0;  // the program's own ones have up to so much more, or less
  std::uint64_t stack_bytes = 0;
  std::uint64_t file_bytes = 0;  // zeroed data of programs and libraries
  std::uint64_t other_bytes = 0;
  // Of the program's own mappings, by index of the stack that made them.
  struct Mapped {
    std::uint64_t accessible_bytes = 0;  // without a file, of ranges that the program may read or write
    std::uint64_t resident_bytes = 0;
  };
  std::unordered_map<std::uint32_t, Mapped> mapped;
};

// How malloc gets its memory.
enum class HeapMapping : std::uint8_t {
  Unseen,  // glibc: by calls that aren't recorded
  Seen,    // others: by calls of mmap like the program's own
};

// Facts about blocks and stacks.
struct HeapFacts {
  // Whether a live block of malloc, or of another recorded allocator, has bytes in [start, end).
  std::function<bool(std::uint64_t start, std::uint64_t end)> has_block;
  // The innermost return address of a stack. All mappings of one call are an allocator's if any has blocks: a sample
  // knows no block in many of CPython's arenas.
  std::function<trace::RowId(trace::StackId stack)> call_of;
};

ResidentUse resident_use(const trace::MemoryReading& reading, const Mappings& mappings, HeapMapping heap,
                         const HeapFacts& facts);

}  // namespace tare::core
