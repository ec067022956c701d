// A cache line of a shard's hash table: 12 handles, a byte of hash for each, and how many atoms it had no room for.
//
// One search that hits reads this line and the atom's; one that misses reads this line, 255 of 256 times. 5.3 bytes a
// slot. The counter ends a search without tombstones, as in Facebook's F14.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tare/version.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tare::inline TARE_ABI {

class alignas(64) AtomBucket {
 public:
  static constexpr unsigned kSlots = 12;
  static constexpr std::uint32_t kAllSlots = (1U << kSlots) - 1;
  static constexpr std::uint8_t kEmpty = 0;
  static constexpr std::uint8_t kManyPassed = 255;  // counted no further, and never down: until the table is rebuilt

  // Which slots have this tag, as bits.
  std::uint32_t match(std::uint8_t tag) const {
    const std::uint64_t low = tag_word(0);
    const std::uint64_t high = tag_word(1);
#if defined(__SSE2__)
    const __m128i tags = _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
    const __m128i same = _mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(tag)));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(same)) & kAllSlots;
#else
    std::uint32_t slots = 0;
    for (unsigned i = 0; i < kSlots; ++i) {
      slots |= static_cast<std::uint32_t>(((i < 8 ? low : high) >> (i % 8 * 8) & 255) == tag) << i;
    }
    return slots;
#endif
  }

  std::uint32_t handle(unsigned slot) const { return handles_[slot].load(std::memory_order_acquire); }

  // How many atoms belong here or before and lie beyond.
  std::uint8_t passed() const { return __atomic_load_n(&tags_[kPassedAt], __ATOMIC_RELAXED); }
  bool was_passed() const { return passed() != 0; }

  // The other members are for the only writer.
  void put(unsigned slot, std::uint8_t tag, std::uint32_t handle) {
    handles_[slot].store(handle, std::memory_order_release);
    set_tag(slot, tag);
  }
  void clear(unsigned slot) { set_tag(slot, kEmpty); }
  void pass() {
    if (passed() != kManyPassed) set_tag(kPassedAt, static_cast<std::uint8_t>(passed() + 1));
  }
  void unpass() {
    if (passed() != kManyPassed) set_tag(kPassedAt, static_cast<std::uint8_t>(passed() - 1));
  }

 private:
  static constexpr unsigned kPassedAt = kSlots;  // the byte after the tags

  // Read 8 at a time and written one by one, which std::atomic has no words for: to write a byte within a word of 8
  // took 12 instructions more of the 50 that adding an atom took.
  using TagWord [[gnu::may_alias]] = std::uint64_t;
  std::uint64_t tag_word(unsigned index) const {
    return __atomic_load_n(reinterpret_cast<const TagWord*>(tags_) + index, __ATOMIC_ACQUIRE);
  }
  void set_tag(unsigned index, std::uint8_t tag) { __atomic_store_n(&tags_[index], tag, __ATOMIC_RELEASE); }

  alignas(8) std::uint8_t tags_[16];
  std::atomic<std::uint32_t> handles_[kSlots];
};

static_assert(sizeof(AtomBucket) == 64);

}  // namespace tare::inline TARE_ABI
