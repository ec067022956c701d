// Results of walking long types: their ends, their properties, and whether values of no bytes are normal.
//
// Many small values can share one long type; walking it for each would take values times characters, hours for a
// megabyte. So a type is walked once: 32 of them are remembered on the stack, more in memory of their own. Without that
// memory the answers are the same, and slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tare/variant/type.h"

namespace tare::inline TARE_ABI::variant {

class LongTypes {
 public:
  enum class Emptiness : std::uint8_t { Unknown, Normal, Wrong };

  LongTypes() noexcept = default;
  LongTypes(const LongTypes&) = delete;
  LongTypes& operator=(const LongTypes&) = delete;
  ~LongTypes() { free_own(); }

  // Of the type at `at`, which is moved behind it.
  Layout layout_at(const char*& at) noexcept {
    const char* const begin = at;
    if (count_ != 0) {
      const Slot& known = slot_of(begin);
      if (known.begin == begin) {
        at = known.end;
        return known.layout;
      }
    }
    const Layout layout = type_details::layout_at(at);
    if (at - begin > kLong) [[unlikely]]
      remember({begin, at, layout, Emptiness::Unknown});
    return layout;
  }

  // For a type that layout_at() may have walked: the stored result for values of no bytes.
  Emptiness emptiness(const char* type) noexcept {
    if (count_ == 0) return Emptiness::Unknown;
    const Slot& known = slot_of(type);
    return known.begin == type ? known.emptiness : Emptiness::Unknown;
  }
  void set_emptiness(const char* type, bool is_normal) noexcept {
    if (count_ == 0) return;
    Slot& known = slot_of(type);
    if (known.begin == type) known.emptiness = is_normal ? Emptiness::Normal : Emptiness::Wrong;
  }

 private:
  static constexpr std::ptrdiff_t kLong = 32;  // below this number of characters, walking is as fast as a look-up
  static constexpr std::size_t kOnStack = 64;
  struct Slot {
    const char* begin;  // null: free
    const char* end;
    Layout layout;
    Emptiness emptiness;
  };

  // The type's, or the free one that it would have. Half of all are free.
  Slot& slot_of(const char* type) noexcept {
    // Of addresses at any distance that the bytes' author may choose.
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(type);
    hash = (hash ^ (hash >> 32)) * 0x9E37'79B9'7F4A'7C15U;
    hash = (hash ^ (hash >> 29)) * 0xBF58'476D'1CE4'E5B9U;
    hash ^= hash >> 32;
    std::size_t place = hash & (capacity_ - 1);
    while (slots_[place].begin != nullptr && slots_[place].begin != type) place = (place + 1) & (capacity_ - 1);
    return slots_[place];
  }

  void remember(const Slot& slot) noexcept {
    if (count_ == 0) std::memset(static_cast<void*>(on_stack_), 0, sizeof on_stack_);
    if (count_ == capacity_ / 2 && !grow()) {
      std::memset(static_cast<void*>(slots_), 0, capacity_ * sizeof(Slot));
      count_ = 0;
    }
    ++count_;
    slot_of(slot.begin) = slot;
  }

  bool grow() noexcept {
    auto* grown = static_cast<Slot*>(std::malloc(2 * capacity_ * sizeof(Slot)));  // NOLINT
    if (grown == nullptr) return false;
    std::memset(static_cast<void*>(grown), 0, 2 * capacity_ * sizeof(Slot));
    Slot* const old = slots_;
    const std::size_t old_capacity = capacity_;
    slots_ = grown;
    capacity_ *= 2;
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].begin != nullptr) slot_of(old[i].begin) = old[i];
    }
    if (old != on_stack_) std::free(old);  // NOLINT
    return true;
  }
  void free_own() noexcept {
    if (slots_ != on_stack_) std::free(slots_);  // NOLINT
  }

  std::size_t count_ = 0;
  std::size_t capacity_ = kOnStack;
  Slot* slots_ = on_stack_;
  Slot on_stack_[kOnStack];  // not made before they are used
};

}  // namespace tare::inline TARE_ABI::variant
