// Where the recorder has private memory of its own in the program: written by the recorder, read from outside by the
// launcher, which takes that memory for none of the program's (SpoolHeader::own_ranges is the list's address).
#pragma once

#include <atomic>
#include <cstdint>

namespace tare::trace {

struct OwnRange {
  std::uint64_t start = 0;
  std::atomic<std::uint64_t> bytes;  // written last; 0: not yet complete
};

struct OwnRanges {
  // 20 are usual; each thread that allocates at the same time as others takes one more. Those beyond are taken for the
  // program's memory, which makes a snapshot slower and changes nothing else.
  static constexpr std::uint32_t kMost = 512;

  std::atomic<std::uint32_t> count;  // may exceed kMost
  OwnRange ranges[kMost];
};

}  // namespace tare::trace
