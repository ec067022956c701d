// A thread of the process that marks for all heaps that use it, and its work for each.
//
// It calls trace() while the heap's own thread changes objects, and finds its way by atomic reads of Members. It
// reaches only objects that existed when marking began: later ones are marked from the beginning. No heap waits for it,
// but for collections at once, destruction and forks, and these until it is between two objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/gc/marking/marker.h"
#include "lib/gc/marking/rows.h"
#include "lib/gc/threads/locks.h"

namespace tare::inline TARE_ABI::gc {

// One heap's marking. Thread-safety: the heap's thread, while the other is at work.
class ConcurrentMarking {
 public:
  explicit ConcurrentMarking(HeapImpl& heap) noexcept : marker_(heap, list_, Marker::Sharing::Helper) {}
  ~ConcurrentMarking() { stop(); }
  ConcurrentMarking(const ConcurrentMarking&) = delete;
  ConcurrentMarking& operator=(const ConcurrentMarking&) = delete;

  // Objects that are marked and have to be traced. False if no thread can be made; then they aren't taken.
  bool give(const std::uint32_t* granules, std::size_t count) noexcept;
  // Stored references into pages of the heap whose targets may not be marked yet. False if the thread has nothing of
  // the heap's to do: it isn't woken for that.
  bool give_stored(const std::uint32_t* granules, std::size_t count) noexcept;
  // Moves the objects that only the heap's thread can trace to `left`. True if the other thread has no more work.
  bool take_left(Rows<std::uint32_t>& left) noexcept;
  // When this returns the thread is done with the heap.
  void stop() noexcept;

  // Once it has stopped: its untraced objects, and its time.
  Marker& marker() noexcept { return marker_; }
  std::size_t worked_ns() const noexcept TARE_UNCHECKED_LOCKS { return worked_ns_; }

 private:
  friend class MarkingThread;
  enum class State : std::uint8_t { Idle, Queued, Working };

  bool mark_taken(const std::atomic<bool>& is_to_stop) noexcept;

  State state_ TARE_GUARDED_BY(locks().marking) = State::Idle;
  bool is_to_stop_ TARE_GUARDED_BY(locks().marking) = false;
  ConcurrentMarking* next_ TARE_GUARDED_BY(locks().marking) = nullptr;
  Rows<std::uint32_t> given_ TARE_GUARDED_BY(locks().marking);
  Rows<std::uint32_t> stored_ TARE_GUARDED_BY(locks().marking);
  Rows<std::uint32_t> left_ TARE_GUARDED_BY(locks().marking);
  std::size_t worked_ns_ TARE_GUARDED_BY(locks().marking) = 0;
  // The thread's while it is Working.
  Rows<std::uint32_t> taken_;  // of stored_
  Rows<std::uint32_t> list_;
  Marker marker_;
};

namespace marking_thread {

// Around a fork, holding the lock: the thread is between two objects and has put its work down. A child has no such
// thread until one is needed.
void rest_for_fork() noexcept TARE_REQUIRES(locks().marking);
void go_on_in_parent() noexcept TARE_REQUIRES(locks().marking);
void go_on_in_child() noexcept TARE_REQUIRES(locks().marking);

}  // namespace marking_thread

}  // namespace tare::inline TARE_ABI::gc
