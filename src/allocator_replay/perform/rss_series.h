// RSS over time, in a fixed number of samples: when they are full, every other one goes and the step doubles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tare::perform {

class RssSeries {
 public:
  struct Sample {
    std::uint64_t ns;
    std::uint64_t order;
    std::uint64_t bytes;
  };

  // Is it time for another sample? Called more often than samples are taken.
  bool is_due(std::uint64_t ns) const { return ns >= next_ns_; }

  void add(Sample sample) {
    if (count_ == samples_.size()) {
      for (std::size_t i = 0; i < count_ / 2; ++i) samples_[i] = samples_[2 * i];
      count_ /= 2;
      step_ns_ *= 2;
    }
    samples_[count_++] = sample;
    next_ns_ = sample.ns + step_ns_;
  }

  std::size_t size() const { return count_; }
  const Sample& operator[](std::size_t i) const { return samples_[i]; }

 private:
  std::array<Sample, 256> samples_{};
  std::size_t count_ = 0;
  std::uint64_t step_ns_ = 1'000'000;
  std::uint64_t next_ns_ = 0;
};

}  // namespace tare::perform
