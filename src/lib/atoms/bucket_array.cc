#include "lib/atoms/bucket_array.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace tare::inline TARE_ABI {

BucketArray BucketArray::make(std::size_t count, TablePages& pages) {
  BucketArray made;
  made.count_ = count;
  void* memory = nullptr;
  if (made.is_mapped()) {
    const CageResult<PageRun> run = pages.allocate(made.rounded_bytes());
    if (!run) return {};
    memory = run.value().data;
    pages.tell_made(memory, made.rounded_bytes());
    if (run.value().contents == PageRun::Contents::Stale) std::memset(memory, 0, made.size_bytes());
  } else {
    memory = std::aligned_alloc(alignof(AtomBucket), made.size_bytes());
    if (memory == nullptr) return {};
    std::memset(memory, 0, made.size_bytes());
  }
  made.buckets_ = static_cast<AtomBucket*>(memory);  // atomics of zero bits are zero
  return made;
}

void BucketArray::free(TablePages& pages) {
  if (buckets_ == nullptr) return;
  if (is_mapped()) {
    pages.tell_freed(buckets_);
    pages.free({reinterpret_cast<std::byte*>(buckets_), rounded_bytes(), PageRun::Contents::Stale}, FreedPages::Return);
  } else {
    std::free(buckets_);  // NOLINT(cppcoreguidelines-no-malloc)
  }
  *this = {};
}

void BucketArray::insert_beyond(std::uint64_t hash, std::uint32_t handle) {
  std::size_t at = home_of(hash);
  while (true) {
    const std::uint32_t empty = buckets_[at].match(AtomBucket::kEmpty);
    if (empty != 0) {
      buckets_[at].put(static_cast<unsigned>(std::countr_zero(empty)), tag_of(hash), handle);
      return;
    }
    buckets_[at].pass();
    at = after(at);
  }
}

void BucketArray::remove(std::uint64_t hash, std::uint32_t handle) {
  const std::uint8_t tag = tag_of(hash);
  for (std::size_t at = home_of(hash);; at = after(at)) {
    for (std::uint32_t slots = buckets_[at].match(tag); slots != 0; slots &= slots - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(slots));
      if (buckets_[at].handle(slot) != handle) continue;
      buckets_[at].clear(slot);
      return;
    }
    buckets_[at].unpass();
  }
}

}  // namespace tare::inline TARE_ABI
