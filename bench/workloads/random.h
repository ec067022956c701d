// xorshift64*, so that a workload makes the same calls in every run.
#pragma once

#include <cstdint>

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1d;
  }
  std::uint64_t below(std::uint64_t limit) { return (next() >> 16) % limit; }

 private:
  std::uint64_t state_;
};
