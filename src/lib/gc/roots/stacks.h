// The stacks of a heap's thread: its own and registered ones, and where those that aren't run on were left.
#pragma once

#include <cstddef>

#include "tare/gc/stacks.h"

namespace tare::inline TARE_ABI::gc {

class Marker;

class Stacks {
 public:
  explicit Stacks(const void* own_end) noexcept : own_end_(own_end) {}

  void add(RegisteredStack& stack) noexcept;
  void remove(RegisteredStack& stack) noexcept;
  // The note of the stack that the address lies on.
  const void*& left_at(const void* address) noexcept;

  // Scans the caller's stack and the left ones for likely pointers.
  void scan(Marker& marker) const noexcept;
  // True if the address lies on a registered one. The thread's own is another's matter.
  bool is_on_registered(const void* address) const noexcept { return around(address) != nullptr; }

 private:
  RegisteredStack* around(const void* address) const noexcept;

  const void* own_end_;
  const void* own_left_at_ = nullptr;
  RegisteredStack* first_ = nullptr;
};

}  // namespace tare::inline TARE_ABI::gc
