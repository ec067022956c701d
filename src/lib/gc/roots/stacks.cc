#include "lib/gc/roots/stacks.h"

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/roots/stack_scan.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

namespace {

Stacks& stacks_of(HeapCore& core) noexcept { return static_cast<HeapImpl&>(core).stacks(); }

// Its frame lies below the one into which the caller has put its registers.
[[gnu::noinline]] void call_below(Stacks& stacks, void (*call)(void*), void* context) {
  const void* const here = __builtin_frame_address(0);
  stacks.left_at(here) = here;
  call(context);
  stacks.left_at(here) = nullptr;  // looked up again: the list may have changed
}

}  // namespace

RegisteredStack::RegisteredStack(const HeapBase& heap, const void* memory, std::size_t bytes) noexcept
    : core_(heap.core()), begin_(static_cast<const std::byte*>(memory)), end_(begin_ + bytes) {
  stacks_of(core_).add(*this);
}

RegisteredStack::~RegisteredStack() { stacks_of(core_).remove(*this); }

void Stacks::add(RegisteredStack& stack) noexcept {
  stack.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &stack;
  first_ = &stack;
}

void Stacks::remove(RegisteredStack& stack) noexcept {
  (stack.previous_ == nullptr ? first_ : stack.previous_->next_) = stack.next_;
  if (stack.next_ != nullptr) stack.next_->previous_ = stack.previous_;
}

RegisteredStack* Stacks::around(const void* address) const noexcept {
  for (RegisteredStack* stack = first_; stack != nullptr; stack = stack->next_) {
    if (address >= stack->begin_ && address < stack->end_) return stack;
  }
  return nullptr;
}

const void*& Stacks::left_at(const void* address) noexcept {
  RegisteredStack* stack = around(address);
  return stack == nullptr ? own_left_at_ : stack->left_at_;
}

void Stacks::scan(Marker& marker) const noexcept {
  const RegisteredStack* current = around(__builtin_frame_address(0));
  scan_stack(marker, current == nullptr ? own_end_ : current->end_);
  for (const RegisteredStack* stack = first_; stack != nullptr; stack = stack->next_) {
    if (stack != current && stack->left_at_ != nullptr) scan_left_stack(marker, stack->left_at_, stack->end_);
  }
  if (current == nullptr) return;
  if (own_left_at_ == nullptr) stop("a heap collects on a stack to which no leave_stack() led");
  scan_left_stack(marker, own_left_at_, own_end_);
}

void stacks_details::leave_stack(HeapCore& core, void (*call)(void* context), void* context) {
  __builtin_unwind_init();  // registers that a call must keep are pushed into this frame
  call_below(stacks_of(core), call, context);
  asm volatile("");  // no tail call: it would pop them before
}

}  // namespace tare::inline TARE_ABI::gc
