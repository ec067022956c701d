// The objects of one kind that live in the process, so that a fork can take the locks of all of them.
#pragma once

#include "lib/fork/mutex.h"

namespace tare::inline TARE_ABI {

// Object derives from this.
template <class Object>
struct LivingLinks {
  Object* next_living = nullptr;
  Object* previous_living = nullptr;
};

template <class Object>
class Living {
 public:
  void add(Object& object) noexcept {
    const Lock lock(mutex_);
    object.next_living = first_;
    object.previous_living = nullptr;
    if (first_ != nullptr) first_->previous_living = &object;
    first_ = &object;
  }

  // Before the object is destroyed. Waits for a fork that has its lock.
  void remove(Object& object) noexcept {
    const Lock lock(mutex_);
    (object.previous_living == nullptr ? first_ : object.previous_living->next_living) = object.next_living;
    if (object.next_living != nullptr) object.next_living->previous_living = object.previous_living;
  }

  // Around a fork: the list stays locked between the two.
  template <class Call>
  void lock_for_fork(Call&& call) noexcept TARE_UNCHECKED_LOCKS {
    mutex_.lock();
    for (Object* object = first_; object != nullptr; object = object->next_living) call(*object);
  }
  template <class Call>
  void unlock_after_fork(Call&& call) noexcept TARE_UNCHECKED_LOCKS {
    for (Object* object = first_; object != nullptr; object = object->next_living) call(*object);
    mutex_.unlock();
  }

 private:
  Mutex mutex_;
  Object* first_ TARE_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace tare::inline TARE_ABI
