#include "lib/gc/roots/root_ring.h"

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

void CrossRootLink::unlink() noexcept {
  if (next_ != nullptr) {
    next_->previous_ = previous_;
    previous_->next_ = next_;
  }
  next_ = previous_ = nullptr;
  object_.store(nullptr, std::memory_order_release);
}

// Called with the lock: its header is the program's, and has no word of the lock.
void CrossRootLink::link(const void* object, RootKind kind) noexcept TARE_UNCHECKED_LOCKS {
  unlink();
  if (object == nullptr) return;
  HeapImpl* heap = HeapImpl::of(object);
  if (heap == nullptr) stop("a CrossThreadPersistent to what is no collected object");
  object_.store(object, std::memory_order_release);
  heap->cross_roots(kind).add(*this);
}

void CrossRootLink::set(const void* object, RootKind kind) noexcept {
  const Lock lock(locks().cross_roots);
  link(object, kind);
}

void CrossRootLink::set_from(const CrossRootLink& other, RootKind kind) noexcept {
  const Lock lock(locks().cross_roots);
  link(other.object(), kind);
}

}  // namespace tare::inline TARE_ABI::gc
