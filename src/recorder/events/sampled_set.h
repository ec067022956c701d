// The sampled blocks that are alive, and the filter that rules nearly all other blocks out.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "recorder/arch/arch.h"
#include "recorder/base/attributes.h"

namespace tare::recorder {

// Lock-free: buckets of eight words, longer by links, never moved.
class SampledSet {
 public:
  static constexpr int kNotIn = -1;
  // Addresses are spread by a hash, so all buckets come to be resident: 128 KiB to 8 MiB.
  static constexpr std::uint32_t kFewestBuckets = 1 << 11;
  static constexpr std::uint32_t kMostBuckets = 1 << 17;
  static constexpr std::uint32_t kMostBucketsOfWatch = 1 << 13;  // a watch file has room for 16,384 samples
  // Four sampled blocks a bucket where 8 GiB live. A bucket that is full goes on in others, which costs only calls that
  // are sampled.
  static constexpr std::uint32_t buckets_for(std::uint64_t mean_bytes) {
    const std::uint64_t wanted = (std::uint64_t{2} << 30) / std::max<std::uint64_t>(mean_bytes, 1);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_floor(wanted), kFewestBuckets, kMostBuckets));
  }
  // Maps it; false: no address space. The number of buckets is a power of two, and that of the first call stays.
  bool prepare(std::uint32_t buckets);
  // `odds`: which distance the block was sampled with. False: no memory.
  bool insert(std::uint64_t address, std::uint32_t odds);
  // Nearly always rules out a block that isn't sampled, but never a null pointer: a table of counts that stays in the
  // L1 cache. 1 GiB of live blocks sampled every 512 KiB sets one in eight.
  TARE_INLINE bool may_hold_at_first_sight(std::uint64_t address) const {
    return !arch::is_zero(filter_[filter_index(address)]);
  }
  // Rules more out where many are sampled: a table for the L2 cache.
  TARE_INLINE bool may_hold(std::uint64_t address) const {
    return may_hold_at_first_sight(address) && counts_[hash(address) % kCounts].load(std::memory_order_relaxed) != 0;
  }
  // Its odds; kNotIn if it wasn't in.
  TARE_INLINE int take_out(std::uint64_t address) { return may_hold(address) ? take_out_slowly(address) : kNotIn; }
  TARE_INLINE bool remove(std::uint64_t address) { return take_out(address) != kNotIn; }
  bool holds(std::uint64_t address) const;

 private:
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  static constexpr int kFilterBits = 14;
  static constexpr std::uint32_t kFilterCounts = 1 << kFilterBits;
  // The lower half of an address is enough, and its factor fits into an instruction.
  TARE_INLINE static std::uint32_t filter_index(std::uint64_t address) {
    return static_cast<std::uint32_t>(address) * 0x9e3779b1 >> (32 - kFilterBits);
  }
  static constexpr std::uint32_t kCounts = 1 << 16;
  static constexpr int kOddsShift = 56;  // addresses of programs have at most 56 bits, with tags above them
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kOddsShift) - 1;
  struct Bucket {
    std::atomic<std::uint64_t> words[8] = {};  // an address with odds, 0, or in the last a bucket's address + 1
  };
  TARE_INLINE static std::uint32_t hash(std::uint64_t address) {
    return static_cast<std::uint32_t>((address >> 4) * kFactor >> 32);
  }
  void filter_in(std::uint64_t address);
  void filter_out(std::uint64_t address);
  int take_out_slowly(std::uint64_t address);
  Bucket* extend(Bucket* bucket);
  static Bucket* next(const Bucket& bucket);

  std::atomic<std::uint8_t> filter_[kFilterCounts] = {};  // full counts stay
  std::atomic<std::uint16_t> counts_[kCounts] = {};
  Bucket* buckets_ = nullptr;
  std::uint32_t mask_ = 0;
  std::atomic<std::uint64_t> spare_{0};  // next free bucket of the current slab
  std::atomic<std::uint64_t> spare_end_{0};
};

}  // namespace tare::recorder
