// A histogram of durations with four buckets an octave, and sums without their outliers.
#pragma once

#include <bit>
#include <cstdint>
#include <map>

namespace tare::core {

class TickHistogram {
 public:
  void add(std::uint64_t ticks) { add(bucket_of(ticks), {1, ticks}); }
  void add_all(const TickHistogram& other) {
    for (const auto& [bucket, sum] : other.buckets_) add(bucket, sum);
  }

  // The mean of the bucket that has the quantile; 0 if there are no values.
  double quantile(double share) const {
    std::uint64_t count = 0;
    for (const auto& [bucket, sum] : buckets_) count += sum.count;
    std::uint64_t below = 0;
    for (const auto& [bucket, sum] : buckets_) {
      below += sum.count;
      if (static_cast<double>(below) >= share * static_cast<double>(count)) return sum.mean();
    }
    return 0;
  }

  // The sum if each value above `cap` were `cap`.
  double sum_capped_at(double cap) const {
    double sum = 0;
    for (const auto& [bucket, each] : buckets_)
      sum += each.mean() <= cap ? static_cast<double>(each.ticks) : static_cast<double>(each.count) * cap;
    return sum;
  }

 private:
  struct Bucket {
    std::uint64_t count = 0;
    std::uint64_t ticks = 0;

    double mean() const { return static_cast<double>(ticks) / static_cast<double>(count); }
  };

  static std::uint32_t bucket_of(std::uint64_t ticks) {
    if (ticks < 4) return static_cast<std::uint32_t>(ticks);
    const auto log2 = static_cast<std::uint32_t>(std::bit_width(ticks)) - 1;
    return 4 * log2 + static_cast<std::uint32_t>(ticks >> (log2 - 2) & 3);
  }
  void add(std::uint32_t bucket, const Bucket& more) {
    Bucket& to = buckets_[bucket];
    to.count += more.count;
    to.ticks += more.ticks;
  }

  std::map<std::uint32_t, Bucket> buckets_;  // few of them are ever used
};

}  // namespace tare::core
