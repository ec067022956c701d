// Which address ranges the program has mapped, as far as its calls say: totals for `process` and `timeline`.
#pragma once

#include <cstdint>
#include <map>

namespace tare::core {

class Mappings {
 public:
  void map(std::uint64_t start, std::uint64_t length);
  void unmap(std::uint64_t start, std::uint64_t length);
  const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ends_; }  // start -> end, disjoint
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // start -> end, disjoint
  std::uint64_t bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace tare::core
