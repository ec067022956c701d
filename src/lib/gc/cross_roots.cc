#include "lib/gc/root_ring.h"

#include <mutex>

#include "lib/gc/heap_impl.h"
#include "lib/gc/locks.h"
#include "lib/gc/stop.h"

namespace tare::gc {

void CrossRootLink::unlink() noexcept {
  if (next_ != nullptr) {
    next_->previous_ = previous_;
    previous_->next_ = next_;
  }
  next_ = previous_ = nullptr;
  object_ = nullptr;
}

void CrossRootLink::link(const void* object, RootKind kind) noexcept {
  unlink();
  if (object == nullptr) return;
  HeapImpl* heap = HeapImpl::of(object);
  if (heap == nullptr) stop("a CrossThreadPersistent to what is no collected object");
  object_ = object;
  heap->cross_roots(kind).add(*this);
}

const void* CrossRootLink::object() const noexcept {
  const std::lock_guard lock(locks().cross_roots);
  return object_;
}

void CrossRootLink::set(const void* object, RootKind kind) noexcept {
  const std::lock_guard lock(locks().cross_roots);
  link(object, kind);
}

void CrossRootLink::set_from(const CrossRootLink& other, RootKind kind) noexcept {
  const std::lock_guard lock(locks().cross_roots);
  link(other.object_, kind);
}

}  // namespace tare::gc
