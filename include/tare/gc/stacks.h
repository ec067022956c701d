// tare/gc/stacks.h: heaps whose thread runs on several stacks: fibres, coroutines that have stacks of their own.
//
//   tare::gc::RegisteredStack stack(heap, memory, bytes);               // as long as the fibre may run
//   begin(fibre);
//   tare::gc::leave_stack(heap, [&] { swapcontext(&here, &fibre); });   // every switch, on whatever stack
//
// A collection scans its own stack from its present place, and each stack that was left from the place where it was
// left; leave_stack() notes that place and the registers. A stack that was never run on, or has ended, isn't scanned.
// The call itself lies behind the noted place: it switches, and must have no pointers to collected objects of its own.
// Without all this a collection on an unknown stack ends the program with a message.
//
// Thread-safety: the heap's thread; a fibre that uses a heap stays on it.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tare/gc/heap.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Memory of a stack that the heap's thread may run on. Ends before the memory and before the heap, and not while it is
// run on.
class TARE_API RegisteredStack {
 public:
  RegisteredStack(const HeapBase& heap, const void* memory, std::size_t bytes) noexcept;
  ~RegisteredStack();
  RegisteredStack(const RegisteredStack&) = delete;
  RegisteredStack& operator=(const RegisteredStack&) = delete;

 private:
  friend class Stacks;

  HeapCore& core_;
  const std::byte* begin_;
  const std::byte* end_;
  const void* left_at_ = nullptr;  // the lowest address that anything was left at; null: it is run on, or wasn't yet
  RegisteredStack* next_ = nullptr;
  RegisteredStack* previous_ = nullptr;
};

namespace stacks_details {
TARE_API void leave_stack(HeapCore& core, void (*call)(void* context), void* context);
}  // namespace stacks_details

// Calls `call`, which switches to another stack and returns when this one is run on again. If the thread has several
// heaps, each needs the call: leave_stack(a, [&] { leave_stack(b, ...); }).
template <class Call>
void leave_stack(const HeapBase& heap, Call&& call) {
  stacks_details::leave_stack(
      heap.core(), [](void* context) { (*static_cast<std::remove_reference_t<Call>*>(context))(); },
      const_cast<void*>(static_cast<const void*>(&call)));
}

}  // namespace tare::inline TARE_ABI::gc
