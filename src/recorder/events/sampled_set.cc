// The set of sampled blocks: see sampled_set.h.
#include "recorder/events/sampled_set.h"

#include <cstring>

#include <sys/mman.h>

#include "recorder/base/syscall.h"
#include "recorder/unwind/own_memory.h"

namespace tare::recorder {

// Clears the entries of an earlier recording, except the addresses of its overflow buckets.
bool SampledSet::prepare(std::uint32_t buckets) {
  if (buckets_ != nullptr) {
    sys::madvise(buckets_, (mask_ + std::uint64_t{1}) * sizeof(Bucket), MADV_DONTNEED);
    std::memset(static_cast<void*>(counts_), 0, sizeof(counts_));
    std::memset(static_cast<void*>(filter_), 0, sizeof(filter_));
  } else {
    buckets_ = reinterpret_cast<Bucket*>(reserve_zeroed(buckets * sizeof(Bucket)));
    mask_ = buckets - 1;
  }
  filter_[0].store(0xff, std::memory_order_relaxed);
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

void SampledSet::filter_in(std::uint64_t address) {
  std::atomic<std::uint8_t>& count = filter_[filter_index(address)];
  std::uint8_t seen = count.load(std::memory_order_relaxed);
  while (seen != 0xff && !count.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen + 1))) {
  }
}

void SampledSet::filter_out(std::uint64_t address) {
  std::atomic<std::uint8_t>& count = filter_[filter_index(address)];
  std::uint8_t seen = count.load(std::memory_order_relaxed);
  while (seen != 0 && seen != 0xff && !count.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen - 1))) {
  }
}

bool SampledSet::insert(std::uint64_t address, std::uint32_t odds) {
  const std::uint64_t word = (address & kAddressMask) | std::uint64_t{odds} << kOddsShift;
  const std::uint32_t key = hash(address);
  for (Bucket* bucket = &buckets_[key & mask_]; bucket != nullptr; bucket = extend(bucket)) {
    for (int i = 0; i < 7; ++i) {
      std::uint64_t empty = 0;
      if (bucket->words[i].load(std::memory_order_relaxed) == 0 &&
          bucket->words[i].compare_exchange_strong(empty, word, std::memory_order_acq_rel)) {
        counts_[key % kCounts].fetch_add(1, std::memory_order_release);
        filter_in(address);
        return true;
      }
    }
  }
  return false;
}

// Null: it goes on in none.
SampledSet::Bucket* SampledSet::next(const Bucket& bucket) {
  const std::uint64_t link = bucket.words[7].load(std::memory_order_acquire);
  return link == 0 ? nullptr : reinterpret_cast<Bucket*>(link - 1);
}

bool SampledSet::holds(std::uint64_t address) const {
  for (const Bucket* bucket = &buckets_[hash(address) & mask_]; bucket != nullptr; bucket = next(*bucket)) {
    for (int i = 0; i < 7; ++i) {
      if ((bucket->words[i].load(std::memory_order_acquire) & kAddressMask) == (address & kAddressMask)) return true;
    }
  }
  return false;
}

int SampledSet::take_out_slowly(std::uint64_t address) {
  const std::uint32_t key = hash(address);
  for (Bucket* bucket = &buckets_[key & mask_]; bucket != nullptr; bucket = next(*bucket)) {
    for (int i = 0; i < 7; ++i) {
      std::uint64_t seen = bucket->words[i].load(std::memory_order_acquire);
      if ((seen & kAddressMask) == (address & kAddressMask) &&
          bucket->words[i].compare_exchange_strong(seen, 0, std::memory_order_acq_rel)) {
        counts_[key % kCounts].fetch_sub(1, std::memory_order_release);
        filter_out(address);
        return static_cast<int>(seen >> kOddsShift);
      }
    }
  }
  return kNotIn;
}

}  // namespace tare::recorder
