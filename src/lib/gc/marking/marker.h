// Marks live objects: from roots, through trace(). Weak references are put aside until all strong ones are followed.
//
// An object's mark is a bit beside the cage, tested when an edge to it is found. An edge to a marked object costs no
// access to the object, and most edges are such where objects point back to their parents and neighbours. A newly found
// object waits for a few others while its memory is prefetched.
//
// In incremental marking, an object's trace() may be outdated when all is marked. So for weak references only the place
// is put aside, and read again. The place stays where it is, as nothing is freed meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/marking/rows.h"
#include "lib/gc/marking/values_by_key.h"
#include "lib/gc/threads/locks.h"
#include "tare/gc/visitor.h"

namespace tare::inline TARE_ABI::gc {

inline constexpr std::size_t kObjectsBetweenLooks = 64;  // at the clock, which takes 25 ns

class Marker {
 public:
  // Other threads that set marks of the heap meanwhile.
  enum class Sharing : std::uint8_t {
    None,
    Owner,   // another thread; this is the heap's
    Helper,  // the heap's thread; this is a helper, which leaves objects that it can't trace to it
  };
  Marker(HeapImpl& heap, Rows<std::uint32_t>& list, Sharing sharing) noexcept;
  ~Marker();
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  // In this order; except the first, those before finish_strong() any number of times. Before marking begins; clears
  // the list.
  void trace_remembered(Rows<std::uint32_t>& objects, Rows<std::uint32_t>& parts) noexcept;
  void mark_roots() noexcept;
  // Traces marked objects. False if time ran out before the end, or if another thread requested a stop.
  bool drain(std::size_t deadline_ns, const std::atomic<bool>* is_to_stop = nullptr) noexcept;
  void mark_cross_roots() noexcept TARE_REQUIRES(locks().cross_roots);
  void mark_stack() noexcept;  // of the calling thread
  void finish_strong() noexcept;
  void clear_weak_cross_roots() noexcept TARE_REQUIRES(locks().cross_roots);
  void call_weak_callbacks() noexcept;  // not holding it
  void clear_weak() noexcept;

  // After prefinalizers: checks that each target of a marked object or a root, weak or not, is an object of this heap
  // and marked, and that only objects are marked. Ends the program if not.
  void verify() noexcept;

  // By objects' starts.
  struct KeyAndValue {
    std::uint32_t key;
    std::uint32_t value;
  };
  // For a snapshot: adds the strong references in an object's trace(), and its ephemerons; marks nothing.
  void name_edges(std::uintptr_t object, Rows<std::uint32_t>& edges, Rows<KeyAndValue>& ephemerons) noexcept;

  // For compacting: adds the Members of containers in the object that point to their arrays, and the starts of objects
  // that anything else in it points to, weakly or not.
  void name_arrays(std::uintptr_t object, Rows<std::uint32_t*>& arrays, Rows<std::uint32_t>& others) noexcept;

  bool mark_object(std::uintptr_t object) noexcept;  // true if it is new; it is in the list then
  // References into pages of this heap. May point inside objects. Mixins aren't checked for: Members may point to them.
  void mark_around(const std::uint32_t* granules, std::size_t count) noexcept;
  void trace_again(std::uintptr_t object) noexcept;  // marked or not

  // Between two markers of a heap: objects that are marked and not traced yet, and all that another has put aside.
  void add(const std::uint32_t* granules, std::size_t count) noexcept;
  void take_over(Marker& other) noexcept;
  void trace(std::uint32_t granule) noexcept;  // left by another thread
  void move_left_to(Rows<std::uint32_t>& left) noexcept;
  const std::uint32_t* waiting() const noexcept { return list_.begin(); }
  std::size_t waiting_count() const noexcept { return edges(); }
  void forget_waiting() noexcept { visitor_.top_ = list_.begin(); }

  bool is_alive(const void* address) const noexcept;
  std::size_t stack_roots() const noexcept { return stack_roots_; }

  // Handles a word found by the scan of the stack.
  void consider_word(std::uintptr_t word) noexcept;

 private:
  friend class Visitor;

  struct Ephemeron {
    const std::uint32_t* key;
    const std::uint32_t* value;
  };
  struct Callback {
    WeakCallback call;
    const void* object;
  };

  // The target of a Member's 4 bytes; null if there is no object.
  const void* target_of(std::uint32_t bits) const noexcept;
  std::uintptr_t start_of_target(std::uint32_t bits) const noexcept;  // 0 if no object
  bool trace_beside_owner(std::uint32_t granule, void (*trace_it)(Visitor&, const void*)) noexcept;
  void keep_new_edges(std::size_t first) noexcept;
  void keep_new_edges_of_two(std::size_t first) noexcept;
  void trace_part(std::uintptr_t place) noexcept;
  void scan_in_construction() noexcept;
  bool mark_live_ephemerons() noexcept;
  void index_ephemerons() noexcept;
  void mark_values_of(std::uint32_t key) noexcept;
  void verify_object(std::uintptr_t object) noexcept;
  void verify_target(const void* target) noexcept;  // of verified_; null is right
  void verify_roots() noexcept;
  void verify_marks() noexcept;
  [[noreturn]] void tell_unmarked(std::uintptr_t from, std::uintptr_t to) noexcept;

  void forget_named() noexcept;
  std::size_t edges() const noexcept { return static_cast<std::size_t>(visitor_.top_ - list_.begin()); }

  HeapImpl& heap_;
  Space& space_;
  const Sharing sharing_;
  Rows<std::uint32_t>& list_;  // granules of objects that are marked and not traced yet, up to visitor_.top_
  Visitor visitor_;
  Rows<std::uint32_t> in_construction_;
  Rows<std::uint32_t*> weak_slots_;
  Rows<Ephemeron> ephemerons_;
  ValuesByKey values_by_key_;  // once it pays: traced objects are looked up here
  Rows<Callback> callbacks_;
  Rows<std::uint32_t*> array_slots_;  // while compacting
  Rows<std::uint32_t> left_;          // of a Helper: to be traced by the owner
  std::size_t stack_roots_ = 0;
  bool is_verifying_ = false;    // weak edges aren't put aside again
  std::uintptr_t verified_ = 0;  // the object whose edges are checked; 0: a root
};

}  // namespace tare::inline TARE_ABI::gc
