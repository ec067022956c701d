// Sampling decisions, and the set of sampled blocks.
#include "recorder/events/sampling.h"

#include <cstring>

#include <sys/mman.h>

#include "recorder/base/numeric.h"
#include "recorder/base/syscall.h"
#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

constinit Sampler sampler;

namespace {

std::uint64_t mix(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

bool Sampler::prepare(std::uint64_t mean_bytes, std::uint64_t seed) {
  mean_bytes_ = static_cast<double>(mean_bytes);
  seed_ = seed;
  double bytes = 1.5;
  for (int size = 0; size < 64; ++size, bytes *= 2) {
    bytes_[size] = bytes;
    probability_[size] = one_minus_exp_minus(bytes / mean_bytes_);
  }
  for (SamplingState* each = states_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    each->allocations.store(0, std::memory_order_relaxed);
    each->frees.store(0, std::memory_order_relaxed);
  }
  return sampled.prepare();
}

void Sampler::seed(SamplingState& state, std::uint64_t thread) const {
  std::uint64_t start = seed_ ^ thread * 0xd1342543de82ef95;
  state.random[0] = mix(start);
  state.random[1] = mix(start) | 1;  // all zero would stay so
  state.bytes_to_sample = until_next(state);
}

void Sampler::enlist(SamplingState& state) {
  if (state.enlisted) return;
  state.enlisted = true;
  state.next = states_.load(std::memory_order_relaxed);
  states_.store(&state, std::memory_order_release);
}

trace::SeenCounts Sampler::seen(const SamplingState& state) const {
  std::uint64_t allocations = 0;
  for (const SamplingState* each = states_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    allocations += each->allocations.load(std::memory_order_relaxed);
  }
  return {static_cast<std::uint32_t>(allocations),
          static_cast<std::uint16_t>(state.allocations.load(std::memory_order_relaxed)),
          static_cast<std::uint16_t>(state.frees.load(std::memory_order_relaxed))};
}

double Sampler::uniform(SamplingState& state) const {  // xoroshiro128+, the upper 53 bits
  const std::uint64_t a = state.random[0];
  std::uint64_t b = state.random[1];
  const std::uint64_t sum = a + b;
  b ^= a;
  state.random[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
  state.random[1] = b << 37 | b >> 27;
  return (static_cast<double>(sum >> 11) + 0.5) * 0x1p-53;
}

double Sampler::until_next(SamplingState& state) const { return -mean_bytes_ * natural_logarithm(uniform(state)); }

double Sampler::take(SamplingState& state, int size) const {
  state.bytes_to_sample = until_next(state);
  return 1 / probability_[size];
}

double Sampler::decide_again(SamplingState& state, bool was_sampled, int before, int after) const {
  const double old_p = probability_[before];
  const double new_p = probability_[after];
  bool is_sampled = was_sampled;
  if (after > before && !was_sampled && old_p < 1) is_sampled = uniform(state) < (new_p - old_p) / (1 - old_p);
  if (after < before && was_sampled) is_sampled = uniform(state) < new_p / old_p;
  return is_sampled ? 1 / new_p : 0;
}

// Clears the entries of an earlier recording, except the addresses of its overflow buckets.
bool SampledSet::prepare() {
  constexpr std::uint64_t kBytes = kBuckets * sizeof(Bucket);
  if (buckets_ != nullptr) {
    sys::madvise(buckets_, kBytes, MADV_DONTNEED);
    std::memset(static_cast<void*>(counts_), 0, sizeof(counts_));
  } else {
    buckets_ = reinterpret_cast<Bucket*>(reserve_zeroed(kBytes));
  }
  return buckets_ != nullptr;
}

// The bucket that `bucket` goes on in. Null: no memory.
SampledSet::Bucket* SampledSet::extend(Bucket* bucket) {
  constexpr std::uint64_t kSlabBytes = 1 << 20;
  std::uint64_t link = bucket->words[7].load(std::memory_order_acquire);
  if (link != 0) return reinterpret_cast<Bucket*>(link - 1);
  std::uint64_t fresh = spare_.fetch_add(sizeof(Bucket), std::memory_order_acq_rel);
  if (fresh == 0 || fresh + sizeof(Bucket) > spare_end_.load(std::memory_order_acquire)) {
    char* slab = static_cast<char*>(reserve_zeroed(kSlabBytes));
    if (slab == nullptr) return nullptr;
    fresh = reinterpret_cast<std::uint64_t>(slab);
    // A thread that reads the new start with the old end just maps a slab more.
    spare_end_.store(0, std::memory_order_release);
    spare_.store(fresh + sizeof(Bucket), std::memory_order_release);
    spare_end_.store(fresh + kSlabBytes, std::memory_order_release);
  }
  if (bucket->words[7].compare_exchange_strong(link, fresh + 1, std::memory_order_acq_rel))
    return reinterpret_cast<Bucket*>(fresh);
  return reinterpret_cast<Bucket*>(link - 1);  // another thread was faster; ours stays unused
}

bool SampledSet::insert(std::uint64_t address) {
  const std::uint32_t key = hash(address);
  for (Bucket* bucket = &buckets_[key % kBuckets]; bucket != nullptr; bucket = extend(bucket)) {
    for (int i = 0; i < 7; ++i) {
      std::uint64_t empty = 0;
      if (bucket->words[i].load(std::memory_order_relaxed) == 0 &&
          bucket->words[i].compare_exchange_strong(empty, address, std::memory_order_acq_rel)) {
        counts_[key % kCounts].fetch_add(1, std::memory_order_release);
        return true;
      }
    }
  }
  return false;
}

bool SampledSet::remove_slowly(std::uint64_t address) {
  const std::uint32_t key = hash(address);
  for (Bucket* bucket = &buckets_[key % kBuckets]; bucket != nullptr;) {
    for (int i = 0; i < 7; ++i) {
      std::uint64_t seen = address;
      if (bucket->words[i].load(std::memory_order_acquire) == address &&
          bucket->words[i].compare_exchange_strong(seen, 0, std::memory_order_acq_rel)) {
        counts_[key % kCounts].fetch_sub(1, std::memory_order_release);
        return true;
      }
    }
    const std::uint64_t link = bucket->words[7].load(std::memory_order_acquire);
    bucket = link == 0 ? nullptr : reinterpret_cast<Bucket*>(link - 1);
  }
  return false;
}

}  // namespace tare::recorder
