// Which blocks are recorded when not all are, and the weight that makes up for the others.
//
// A block is sampled with probability p = 1 - exp(-s / B), s its usable size rounded to its octave (1.5 times the power
// of two below), B the mean bytes between samples; its weight is 1 / p. Octaves of the usable size, because that is
// known of every block at any time without keeping anything for the blocks that aren't sampled.
//
// A realloc within the octave inherits the decision. One that leaves it decides anew, but with the same luck: think of
// each chain as having drawn one number u, its block being sampled while u < p. A sampled block that grows stays
// sampled, with a smaller weight; one that isn't may become so; shrinking is the reverse. So at every moment each block
// is sampled with just its p, sums over blocks are right in the mean, and a step of a chain is seen with the smaller p
// of its two blocks: its weight is the larger one of theirs.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "trace/model/seen_counts.h"

namespace tare::recorder {

// A thread's own state; zero until seeded.
struct SamplingState {
  double bytes_to_sample;
  std::uint64_t random[2];
  // Seen by this thread, and by those that had this state before; only its thread adds.
  std::atomic<std::uint64_t> allocations;  // reallocs among them
  std::atomic<std::uint64_t> frees;
  SamplingState* next;  // all that were enlisted, for ever
  bool enlisted;
};

// The sampled blocks that are alive. Lock-free: buckets of eight words, longer by links, never moved.
class SampledSet {
 public:
  bool prepare();  // maps it; false: no address space
  bool insert(std::uint64_t address);
  // Nearly always rules a sampled block out: a table of counts, small enough for the L2 cache.
  TARE_INLINE bool may_hold(std::uint64_t address) const {
    return counts_[hash(address) % kCounts].load(std::memory_order_relaxed) != 0;
  }
  // False if it wasn't in.
  TARE_INLINE bool remove(std::uint64_t address) { return may_hold(address) && remove_slowly(address); }

 private:
  static constexpr std::uint32_t kCounts = 1 << 16;
  static constexpr std::uint32_t kBuckets = 1 << 17;
  struct Bucket {
    std::atomic<std::uint64_t> words[8] = {};  // an address, 0, or in the last a bucket's address + 1
  };
  TARE_INLINE static std::uint32_t hash(std::uint64_t address) {
    return static_cast<std::uint32_t>((address >> 4) * 0x9e3779b97f4a7c15 >> 32);
  }
  bool remove_slowly(std::uint64_t address);
  Bucket* extend(Bucket* bucket);

  std::atomic<std::uint16_t> counts_[kCounts] = {};
  Bucket* buckets_ = nullptr;
  std::atomic<std::uint64_t> spare_{0};  // next free bucket of the current slab
  std::atomic<std::uint64_t> spare_end_{0};
};

class Sampler {
 public:
  // False: no memory for it.
  bool prepare(std::uint64_t mean_bytes, std::uint64_t seed);
  void seed(SamplingState& state, std::uint64_t thread) const;
  // Adds the counts of `state` to the process's. One call at a time.
  void enlist(SamplingState& state);

  static constexpr int octave(std::uint64_t usable_bytes) {
    return usable_bytes == 0 ? 0 : 63 - __builtin_clzll(usable_bytes);
  }
  // The weight of a new block, 0 when it isn't sampled.
  TARE_INLINE double decide(SamplingState& state, std::uint64_t usable_bytes) const {
    const int size = octave(usable_bytes);
    state.bytes_to_sample -= bytes_[size];
    if (TARE_LIKELY(state.bytes_to_sample >= 0)) return 0;
    return take(state, size);
  }
  // True for a new block that isn't sampled; false is no decision.
  TARE_INLINE bool passes_by(SamplingState& state, std::uint64_t usable_bytes) const {
    const double left = state.bytes_to_sample - bytes_[octave(usable_bytes)];
    if (TARE_UNLIKELY(left < 0)) return false;
    state.bytes_to_sample = left;
    return true;
  }
  TARE_INLINE static void count_allocation(SamplingState& state) { add_one(state.allocations); }
  TARE_INLINE static void count_free(SamplingState& state) { add_one(state.frees); }
  // The counts so far; called only for recorded events.
  trace::SeenCounts seen(const SamplingState& state) const;
  // The weight of a block that was of octave `before` and is now of `after`; 0 when it isn't sampled (any more).
  double decide_again(SamplingState& state, bool was_sampled, int before, int after) const;

  SampledSet sampled;

 private:
  TARE_INLINE static void add_one(std::atomic<std::uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  double take(SamplingState& state, int size) const;
  double uniform(SamplingState& state) const;     // in (0, 1)
  double until_next(SamplingState& state) const;  // bytes, exponentially distributed

  double mean_bytes_ = 0;
  std::uint64_t seed_ = 0;
  double bytes_[64] = {};  // the count for a block of an octave
  double probability_[64] = {};
  std::atomic<SamplingState*> states_{nullptr};
};

extern Sampler sampler;

}  // namespace tare::recorder
