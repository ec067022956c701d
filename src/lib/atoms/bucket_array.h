// The hash table of one shard: an array of buckets, any number of them, searched from the one that the hash names.
//
// It grows by doubling, and shrinks to the needed size. An atom has 6.2 to 12.4 bytes of it. One writer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/atoms/bucket.h"
#include "lib/atoms/range.h"
#include "lib/atoms/table_pages.h"

namespace tare::inline TARE_ABI {

class BucketArray {
 public:
  // Zeroed. From the range's pages if it's a page or more, else from malloc. Empty if there is no memory.
  static BucketArray make(std::size_t count, TablePages& pages);
  void free(TablePages& pages);

  // In one word, so that it can be replaced at one stroke: the address above bit 6, the count in 22 bits.
  static constexpr std::size_t kMostBuckets = (std::size_t{1} << 22) - 1;  // 43 million atoms a shard
  std::uint64_t packed() const { return reinterpret_cast<std::uintptr_t>(buckets_) >> 6 << 22 | count_; }
  static BucketArray unpacked(std::uint64_t packed) {
    BucketArray array;
    array.buckets_ = reinterpret_cast<AtomBucket*>(packed >> 22 << 6);
    array.count_ = packed & kMostBuckets;
    return array;
  }

  bool is_empty() const { return buckets_ == nullptr; }
  std::size_t count() const { return count_; }
  std::size_t capacity() const { return count_ * AtomBucket::kSlots; }
  const AtomBucket& bucket(std::size_t index) const { return buckets_[index]; }

  std::size_t mapped_bytes() const { return is_mapped() ? rounded_bytes() : 0; }

  static std::uint8_t tag_of(std::uint64_t hash) {
    const auto tag = static_cast<std::uint8_t>(hash);
    return tag == AtomBucket::kEmpty ? std::uint8_t{1} : tag;
  }
  std::size_t home_of(std::uint64_t hash) const { return static_cast<std::size_t>((hash >> 32) * count_ >> 32); }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&buckets_[home_of(hash)]); }

  // The first candidate of find(): the first atom of the home bucket with this hash's tag. In 96 of 100 cases it is the
  // right one, or 0 and there is none.
  struct FirstLook {
    std::uint32_t handle;
    bool is_all;  // nothing else can be it
  };
  [[gnu::always_inline]] FirstLook first_look(std::uint64_t hash) const {
    const AtomBucket& bucket = buckets_[home_of(hash)];
    const std::uint32_t slots = bucket.match(tag_of(hash));
    if (slots == 0) return {0, !bucket.was_passed()};
    return {bucket.handle(static_cast<unsigned>(std::countr_zero(slots))), false};
  }

  // The handle of the first atom with this hash's tag that is_wanted(handle) accepts; 0 if there is none.
  template <class IsWanted>
  std::uint32_t find(std::uint64_t hash, IsWanted is_wanted) const;

  // Adds an atom that isn't there. There must be room.
  void insert(std::uint64_t hash, std::uint32_t handle) {
    AtomBucket& home = buckets_[home_of(hash)];
    const std::uint32_t empty = home.match(AtomBucket::kEmpty);
    if (empty == 0) [[unlikely]]
      return insert_beyond(hash, handle);
    home.put(static_cast<unsigned>(std::countr_zero(empty)), tag_of(hash), handle);
  }
  // Removes an atom that is there.
  void remove(std::uint64_t hash, std::uint32_t handle);

 private:
  static constexpr std::size_t kLeastMapped = 4096;

  void insert_beyond(std::uint64_t hash, std::uint32_t handle);

  std::size_t size_bytes() const { return count_ * sizeof(AtomBucket); }
  std::size_t rounded_bytes() const {
    const std::size_t page = atom_range::page_bytes();
    return (size_bytes() + page - 1) & ~(page - 1);
  }
  bool is_mapped() const { return size_bytes() >= kLeastMapped; }
  std::size_t after(std::size_t index) const { return index + 1 == count_ ? 0 : index + 1; }

  AtomBucket* buckets_ = nullptr;
  std::size_t count_ = 0;
};

template <class IsWanted>
std::uint32_t BucketArray::find(std::uint64_t hash, IsWanted is_wanted) const {
  const std::uint8_t tag = tag_of(hash);
  std::size_t at = home_of(hash);
  for (std::size_t i = 0; i < count_; ++i, at = after(at)) {
    const AtomBucket& bucket = buckets_[at];
    for (std::uint32_t slots = bucket.match(tag); slots != 0; slots &= slots - 1) {
      const std::uint32_t handle = bucket.handle(static_cast<unsigned>(std::countr_zero(slots)));
      if (is_wanted(handle)) [[likely]]
        return handle;
    }
    if (!bucket.was_passed()) [[likely]]
      return 0;
  }
  return 0;
}

}  // namespace tare::inline TARE_ABI
