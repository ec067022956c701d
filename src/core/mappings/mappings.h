// Address ranges that the program has mapped by its calls, with their stacks: totals for `process`, `timeline` and
// `mappings`.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "trace/model/ids.h"

namespace tare::core {

class Mappings {
 public:
  struct Range {
    std::uint64_t end = 0;
    trace::StackId stack = trace::kEmptyStack;  // empty: from before the recording
    std::uint64_t since = 0;                    // stamp
  };
  // Of a stack.
  struct Sums {
    std::uint64_t maps = 0;  // calls
    std::uint64_t mapped_bytes = 0;
    std::uint64_t unmapped_bytes = 0;  // by calls that unmap; not by a mapping over a mapping
    double unmapped_byte_ticks = 0;    // of those, times how long they were mapped
    std::uint64_t bytes = 0;           // now
    std::uint64_t peak_bytes = 0;
  };

  void map(std::uint64_t start, std::uint64_t length, trace::StackId stack = trace::kEmptyStack,
           std::uint64_t stamp = 0);
  void unmap(std::uint64_t start, std::uint64_t length, std::uint64_t stamp = 0);
  const std::map<std::uint64_t, Range>& ranges() const { return ranges_; }       // by start, disjoint
  const std::unordered_map<std::uint32_t, Sums>& sums() const { return sums_; }  // by index of the stack
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  template <typename Removed>
  void cut(std::uint64_t start, std::uint64_t end, const Removed& removed);

  std::map<std::uint64_t, Range> ranges_;
  std::unordered_map<std::uint32_t, Sums> sums_;
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace tare::core
