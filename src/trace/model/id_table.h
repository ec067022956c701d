// Open-addressing set of 32-bit ids whose keys are stored elsewhere: 8 bytes a slot, half of it hash, so that a probe
// rarely reads a wrong key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/base/large_vector.h"

namespace tare::trace {

class IdTable {
 public:
  IdTable() : slots_(1024, kEmpty) {}

  // `equals(id)` returns true if the entry `id` has the key; `make()` adds the key elsewhere and returns its id.
  template <typename Equals, typename Make>
  std::uint32_t find_or_make(std::uint64_t hash, Equals&& equals, Make&& make) {
    const std::uint64_t tag = hash & kTagMask;
    std::size_t at = position(hash);
    while (slots_[at] != kEmpty) {
      const std::uint64_t slot = slots_[at];
      if ((slot & kTagMask) == tag && equals(static_cast<std::uint32_t>(slot))) return static_cast<std::uint32_t>(slot);
      at = (at + 1) & (slots_.size() - 1);
    }
    const std::uint32_t id = make();
    slots_[at] = tag | id;
    if (++used_ * 2 > slots_.size()) grow();
    return id;
  }

  // The entry with the key, or kNone.
  static constexpr std::uint32_t kNone = ~0u;
  template <typename Equals>
  std::uint32_t find(std::uint64_t hash, Equals&& equals) const {
    const std::uint64_t tag = hash & kTagMask;
    for (std::size_t at = position(hash); slots_[at] != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
      const auto id = static_cast<std::uint32_t>(slots_[at]);
      if ((slots_[at] & kTagMask) == tag && equals(id)) return id;
    }
    return kNone;
  }

  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[position(hash)]); }
  // The id that a look-up will compare first, or any where there's none.
  std::uint32_t first_candidate(std::uint64_t hash) const { return static_cast<std::uint32_t>(slots_[position(hash)]); }

  std::size_t size() const { return used_; }

 private:
  // No id reaches 0xffffffff: dictionaries are bounded below it.
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr std::uint64_t kTagMask = 0xffffffff00000000ull;

  // The position uses the tag's own bits, so that growing needs no key.
  std::size_t position(std::uint64_t hash) const {
    return static_cast<std::size_t>((hash >> 32) * 0x9e3779b1u) & (slots_.size() - 1);
  }

  void grow() {
    LargeVector<std::uint64_t> old(slots_.size() * 2, kEmpty);
    old.swap(slots_);
    for (const std::uint64_t slot : old) {
      if (slot == kEmpty) continue;
      std::size_t at = position(slot);
      while (slots_[at] != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  LargeVector<std::uint64_t> slots_;
  std::size_t used_ = 0;
};

}  // namespace tare::trace
