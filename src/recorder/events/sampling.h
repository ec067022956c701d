// Which blocks are recorded when not all are, and the weight that makes up for the others.
//
// A block is sampled with probability p = 1 - exp(-s / B), s its size rounded to its octave (1.5 times the power of two
// below), B the mean bytes between samples; its weight is 1 / p. The size is the block's with glibc's header of 8
// bytes, because that is known of every block at any time without keeping anything for the blocks that aren't sampled;
// and of a small block already before it is made, from what is requested (see request_octave()).
//
// A realloc within the octave inherits the decision. One that leaves it decides anew, but with the same luck: think of
// each chain as having drawn one number u, its block being sampled while u < p. A sampled block that grows stays
// sampled, with a smaller weight; one that isn't may become so; shrinking is the reverse. So at every moment each block
// is sampled with just its p, sums over blocks are right in the mean, and a step of a chain is seen with the smaller p
// of its two blocks: its weight is the larger one of theirs.
//
// For a block that isn't sampled and grows from s to t, the chance is 1 - exp(-(t - s) / B): that of a new block of t -
// s bytes. So the thread's bytes until its next sample decide about it, too, by one subtraction.
//
// A budget may double B (recorder/limits/). A thread's bytes until its next sample were drawn with the B of then, and
// its next sample gets the weight of that B. thin() makes a sample one of the present B, by chance: it goes, or its
// weight becomes the greater one. Either way the expected weight stays. A watch thins all its samples when B doubles. A
// recording keeps the weights of the past, and a realloc of an older sample thins it first, for the chain's next block
// belongs to the present B.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/arch/arch.h"
#include "recorder/base/attributes.h"
#include "recorder/events/sampled_set.h"
#include "trace/model/sampling_rules.h"
#include "trace/model/seen_counts.h"

namespace tare::recorder {

// A thread's own state; zero until seeded, which no block passes.
struct alignas(64) SamplingState {
  // Upper half: the bytes until the next sample, rounded down. Lower half: minus the allocations seen by this thread
  // and by those that had this state before, reallocs among them, modulo 2^32. So one subtraction decides and counts.
  // Only its thread writes it; others read the count.
  std::int64_t countdown;
  double beyond;  // bytes until the next sample that don't fit above
  std::uint64_t random[2];
  SamplingState* next;  // all that were enlisted, for ever
  bool enlisted;
  std::uint32_t added;  // of the count: the part that is in the process's
  std::uint32_t odds;   // which distance the bytes were drawn with
};

// Frees by this thread, modulo 2^16.
extern TARE_HIDDEN __thread std::uint16_t frees_seen __attribute__((tls_model("initial-exec")));

class Sampler {
 public:
  // A request up to this size jumps to the real function if it isn't sampled. A larger one returns to the hook, because
  // failures are recorded.
  static constexpr std::uint64_t kMostEarlyBytes = 4096;
  static constexpr double kUndecided = -1;  // as a weight
  static constexpr int kLargestStep = 30;   // an octave: no countdown is as large
  static constexpr int kMostStates = 64;    // 4 KiB read; of 10,000 threads' states it was 640 KiB for each sample

  // False: no memory for it.
  bool prepare(std::uint64_t mean_bytes, std::uint64_t seed, std::uint32_t most_buckets = SampledSet::kMostBuckets);
  void seed(SamplingState& state, std::uint64_t thread) const;
  // Adds the counts of `state` to the process's. One call at a time.
  void enlist(SamplingState& state);

  static constexpr int octave(std::uint64_t usable_bytes) { return top_bit(usable_bytes + trace::kOctaveHeaderBytes); }
  // The octave of the block that glibc makes of a request up to kMostEarlyBytes: the request and a header, rounded up
  // to 16 bytes. (At least 32, but smaller octaves are the same as that of 32.) Rarely glibc adds 16 bytes, where the
  // rest of a free block would be too small to be one. A block that passes an octave's limit this way has been decided
  // with the probability and the weight of the octave below, which go together; only a later realloc of it takes the
  // octave above for the one that it was decided by.
  static constexpr int request_octave(std::uint64_t bytes) { return top_bit(bytes + trace::kOctaveHeaderBytes + 15); }

  // Also of larger requests, unless one lies so close below a limit that what glibc adds crosses it: 16 bytes as above,
  // and to mapped blocks the rest of a page. From 1 GiB on no countdown is as large.
  static constexpr bool is_octave_certain(std::uint64_t bytes) {
    // Usually. Where the threshold is lower, a block that passes a limit is as one that passes it by 16 bytes.
    constexpr std::uint64_t kLeastMapped = 128 << 10;
    const std::uint64_t most_added = bytes < kLeastMapped - 4096 ? 16 : 4096 + 16;
    return bytes >> kLargestStep == 0 && request_octave(bytes) == request_octave(bytes + most_added);
  }

  // True for a new block that isn't sampled, which is counted; false is no decision.
  TARE_INLINE bool passes_by(SamplingState& state, int size) const { return passes_step(state, step_of(size)); }
  // The weight of a new block, 0 when it isn't sampled. Only then it's counted.
  TARE_INLINE double decide(SamplingState& state, int size) const {
    if (TARE_LIKELY(passes_by(state, size))) return 0;
    return take(state, size);
  }
  // Likewise for a realloc of a block that isn't sampled.
  TARE_INLINE bool realloc_passes_by(SamplingState& state, int before, int after) const {
    return passes_step(state, after > before ? step_of(after) - step_of(before) + 1 : 1);
  }
  // The count may borrow from the bytes once in 2^32 calls.
  TARE_INLINE static void count_allocation(SamplingState& state) { arch::subtract_one(state.countdown); }
  TARE_INLINE static void count_free() { ++frees_seen; }
  // The calling thread's counts so far; called only for recorded events. With more than kMostStates threads, the
  // process's count lags behind: each call adds what is new of so many in turn.
  trace::SeenCounts seen(SamplingState& state);
  struct Again {
    double weight;   // 0 when it isn't sampled (any more)
    bool continues;  // the old block's sample, which thinning may end even if the new block is one
  };
  // Of a sampled block that was of octave `before` and is now of `after`. `odds`: that it was sampled with.
  Again decide_again(SamplingState& state, std::uint32_t odds, int before, int after) const;
  // The weight of a block that wasn't sampled then, 0 if it isn't now. Only then it's counted.
  double decide_grown(SamplingState& state, int before, int after) const;

  // Doubles the mean distance. One call at a time; decisions go on meanwhile. False: it was doubled too often.
  bool widen();
  // No block is sampled from now on, and calls cost no more than unsampled ones. Likewise.
  void stop();
  bool is_stopped() const { return is_stopped_.load(std::memory_order_relaxed); }
  // Until stop().
  std::uint64_t mean_bytes() const { return static_cast<std::uint64_t>(newest().mean_bytes); }
  std::uint32_t doublings() const { return newest_.load(std::memory_order_relaxed) - (is_stopped() ? 1 : 0); }
  // Those that `weight`, the result of a decision about a block of that octave, came from.
  std::uint32_t odds_of(double weight, int size) const;
  std::uint32_t newest_odds() const { return newest_.load(std::memory_order_acquire); }
  // The weight under the present distance of a block that was sampled with `weight`, of octave `size`: the same, a
  // greater one, or 0 if the block isn't sampled any more. `luck` is uniform in (0, 1).
  double thin(double weight, int size, double luck) const {
    const double wanted = 1 / newest().probability[size];
    if (weight >= wanted) return weight;
    return luck * wanted < weight ? wanted : 0;
  }

  // No block passes until the result is given to give_back(); the calls in between aren't counted.
  static std::int64_t stop_all(SamplingState& state);
  static void give_back(SamplingState& state, std::int64_t countdown) {
    __atomic_store_n(&state.countdown, countdown, __ATOMIC_RELAXED);
  }

  SampledSet sampled;

 private:
  // Without a sign, here and as an index: else gcc extends the number, an instruction more.
  static constexpr int top_bit(std::uint64_t word) {
    return static_cast<int>(63u - static_cast<unsigned>(__builtin_clzll(word)));
  }
  TARE_INLINE std::int64_t step_of(int size) const { return steps_[static_cast<unsigned>(size)]; }

  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

  // Whole: a signal handler's comes before or after it. False: it's below zero now.
  TARE_INLINE static bool subtract(std::int64_t& countdown, std::int64_t step) {
    return arch::subtract(countdown, step);
  }
  TARE_INLINE static bool passes_step(SamplingState& state, std::int64_t step) {
    if (TARE_LIKELY(subtract(state.countdown, step))) return true;
    arch::add(state.countdown, step);
    return false;
  }
  static std::uint32_t count_of(const SamplingState& state);
  void add_count(SamplingState& state);
  static void set_bytes(SamplingState& state, double bytes);
  double take(SamplingState& state, int size) const;
  bool passes_beyond(SamplingState& state, double bytes) const;
  double uniform(SamplingState& state) const;  // in (0, 1)

  struct Odds {
    double mean_bytes;
    double probability[64];  // of an octave
  };
  static constexpr std::uint32_t kMostOdds = trace::kMostDoublings + 1;
  const Odds& newest() const { return odds_[newest_odds()]; }
  static double chance_of_growth(const Odds& odds, int before, int after);
  void fill(Odds& odds, double mean_bytes) const;
  void draw_next(SamplingState& state) const;

  std::uint64_t seed_ = 0;
  std::int64_t steps_[64] = {};  // of a countdown, for a block of an octave and its count
  double bytes_[64] = {};
  Odds odds_[kMostOdds + 1] = {};  // the last after stop() only
  std::atomic<std::uint32_t> newest_{0};
  std::atomic<bool> is_stopped_{false};
  std::atomic<SamplingState*> states_{nullptr};
  std::atomic<SamplingState*> next_added_{nullptr};  // null: the first
  std::atomic<std::uint32_t> allocations_{0};
};

extern TARE_HIDDEN Sampler sampler;

}  // namespace tare::recorder
