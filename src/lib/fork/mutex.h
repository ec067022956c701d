// Mutexes whose use clang's analysis checks: with -Wthread-safety, members that a mutex guards can't be touched by code
// that doesn't hold it. GCC ignores the annotations.
#pragma once

#include <mutex>

#include "tare/version.h"

#ifdef __clang__
#define TARE_ANNOTATED(attribute) __attribute__((attribute))
#else
#define TARE_ANNOTATED(attribute)
#endif

#define TARE_GUARDED_BY(mutex) TARE_ANNOTATED(guarded_by(mutex))
#define TARE_REQUIRES(...) TARE_ANNOTATED(requires_capability(__VA_ARGS__))
#define TARE_ACQUIRES(...) TARE_ANNOTATED(acquire_capability(__VA_ARGS__))
#define TARE_RELEASES(...) TARE_ANNOTATED(release_capability(__VA_ARGS__))
#define TARE_TRIES(...) TARE_ANNOTATED(try_acquire_capability(__VA_ARGS__))
// Of functions whose order the analysis doesn't know: forks take locks in one call-back and give them back in another.
#define TARE_UNCHECKED_LOCKS TARE_ANNOTATED(no_thread_safety_analysis)

namespace tare::inline TARE_ABI {

class TARE_ANNOTATED(capability("mutex")) Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() TARE_ACQUIRES() { mutex_.lock(); }
  void unlock() TARE_RELEASES() { mutex_.unlock(); }
  bool try_lock() TARE_TRIES(true) { return mutex_.try_lock(); }
  std::mutex& native() noexcept { return mutex_; }  // for condition variables

 private:
  std::mutex mutex_;
};

// Holds a mutex until its scope ends, with the pauses that unlock() and lock() make.
template <class Lockable>
class TARE_ANNOTATED(scoped_lockable) Lock {
 public:
  explicit Lock(Lockable& mutex) TARE_ACQUIRES(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() TARE_RELEASES() {
    if (is_held_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() TARE_ACQUIRES() {
    mutex_.lock();
    is_held_ = true;
  }
  void unlock() TARE_RELEASES() {
    is_held_ = false;
    mutex_.unlock();
  }

 private:
  Lockable& mutex_;
  bool is_held_ = true;
};

}  // namespace tare::inline TARE_ABI
