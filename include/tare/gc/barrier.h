// tare/gc/barrier.h: the write barrier of Members, by which a heap can be marked while its program runs.
//
// While a heap is being marked (tare/gc/heap.h), every target that is stored into a Member of any kind is marked, too.
// By Dijkstra's rule, nothing can be hidden in an object that was already traced. Objects that are made meanwhile are
// marked from the beginning. While no heap of the group is being marked, a store is a load of a global variable and a
// branch that isn't taken beside the 4 bytes themselves; while one is, they're written down for its next step. Nothing
// is decoded in either case.
//
// Code that writes Members in another way, by memcpy into an array say, reports it afterwards:
//   std::memcpy(to->slots(), from->slots(), bytes);
//   tare::gc::trace_again(to);
//
// A group whose heaps need no short pauses may do without. Its Members are then copied like plain numbers:
//   struct ToolHeaps {
//     using Decoding = tare::gc::SplitDecoding<1>;
//     static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
//     static constexpr tare::gc::WriteBarrier kWriteBarrier = tare::gc::WriteBarrier::None;
//   };
//
// A group with much that stays and much that dies young (an editor's document, an interpreter's values) may have its
// young objects collected alone: HeapOf::collect_young(), and by themselves (HeapOptions::young_bytes). Survivors of a
// collection are old, at any address, and aren't traced by those; so a store of a young object into an old one is
// remembered:
//     static constexpr tare::gc::WriteBarrier kWriteBarrier = tare::gc::WriteBarrier::Generational;
// Every store then tests a bit for its place, one for 16 bytes of the cage: 13 instructions and three untaken branches
// in all, also for objects in construction. Out of line, an old target, null and the sentinel are skipped. Otherwise
// the old object is noted, once, and traced by the next collection of the young. Of the library's arrays, and others
// with a trace_part() (tare/gc/object.h), it is the 512 bytes around the place.
//
// Thread-safety: stores belong to the heap's thread. Those of other threads, into Members on their own stacks, mark
// nothing.
//
// Source: "Pointer compression in Oilpan" (2022): the barrier decodes behind the branch. Two parts are new here. The
// decoding is left to the collector's next step. And copies into new Members are guarded too: an element that an
// optional or an array constructs in an old object is a store like any other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tare/internal/export.h"
#include "tare/internal/gc/cage_bases.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

enum class WriteBarrier : std::uint8_t {
  None,          // heaps of the group are marked all at once
  Insertion,     // targets of stores are marked while their heap is being marked
  Generational,  // the same, and targets stored into old objects are remembered
};

template <class Group>
inline constexpr WriteBarrier kWriteBarrierOf = WriteBarrier::Insertion;
template <class Group>
  requires requires { Group::kWriteBarrier; }
inline constexpr WriteBarrier kWriteBarrierOf<Group> = Group::kWriteBarrier;

namespace barrier_details {

// Where old objects lie in a generational group's cage: a bit for 16 bytes, which is set where an old object has any of
// them. Zeros until there is a cage.
struct OldPlaces {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  const std::uint64_t* bits = nullptr;
  const std::uint64_t* marks = nullptr;  // of the cage's objects, by granules from the decoding's origin; stay when old

  bool holds(const void* place) const noexcept {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(place) - begin;
    return offset < bytes && (bits[offset / 1024] >> (offset / 16 % 64) & 1) != 0;
  }
  // A mixin within an object has no mark of its own; it counts as young. Another thread may be marking.
  bool is_old(std::uint32_t granule) const noexcept {
    return (__atomic_load_n(&marks[granule / 128], __ATOMIC_RELAXED) >> (granule / 2 % 64) & 1) != 0;
  }
};

}  // namespace barrier_details

#ifndef TARE_SHARED
#pragma GCC visibility push( \
    hidden)  // no way by the global offset table; src/lib/gc/threads/inline_state.h keeps copies equal
#endif
// How many heaps of each slot's group are being marked.
extern TARE_API std::atomic<std::uint32_t> marking_heaps[kCageSlots];

namespace barrier_details {

extern TARE_API constinit OldPlaces old_places[kCageSlots];

}  // namespace barrier_details
#ifndef TARE_SHARED
#pragma GCC visibility pop
#endif

namespace barrier_details {

// Where the thread writes its next store down. Aligned to kStoreLogBytes: there's no room, or no reader.
extern TARE_API TARE_STATE constinit thread_local std::uint32_t* next_store[kCageSlots];
inline constexpr std::size_t kStoreLogBytes = std::size_t{8} << 10;  // a sixth to a quarter of the first-level cache

TARE_API void stored_without_room(std::size_t slot, std::uint32_t bits) noexcept;
TARE_API void trace_again(std::size_t slot, const void* object) noexcept;
TARE_API void remember(std::size_t slot, const void* place) noexcept;

// Out of line, so that functions which store are hardly longer for it. Nine instructions, null or not. In a program
// that waits for memory, the processor runs some hundred instructions ahead, and instructions between two of its loads
// cost more than their own time.
template <class Decoding>
[[gnu::noinline, gnu::cold]] void mark_bits(std::uint32_t bits) noexcept {
  std::uint32_t*& next = next_store[Decoding::kCageSlot];
  std::uint32_t* const place = next;
  if (reinterpret_cast<std::uintptr_t>(place) % kStoreLogBytes == 0) [[unlikely]] {
    stored_without_room(Decoding::kCageSlot, bits);
    return;
  }
  *place = bits;
  next = place + 1;
}

// The same where there may be old objects.
template <class Decoding>
[[gnu::noinline, gnu::cold]] void mark_or_remember(std::uint32_t bits, const void* place) noexcept {
  if (marking_heaps[Decoding::kCageSlot].load(std::memory_order_relaxed) != 0) mark_bits<Decoding>(bits);
  const OldPlaces& old = old_places[Decoding::kCageSlot];
  if (bits > 1 && old.holds(place) && !old.is_old(Decoding::granule(bits))) remember(Decoding::kCageSlot, place);
}

}  // namespace barrier_details

// Whether a heap of the group is being marked.
template <class Group>
bool is_any_marking() noexcept {
  return kWriteBarrierOf<Group> != WriteBarrier::None &&
         marking_heaps[Group::Decoding::kCageSlot].load(std::memory_order_relaxed) != 0;
}

// After a store of these 4 bytes, or of their equivalent, to `place`.
template <class Group>
[[gnu::always_inline]] inline void write_barrier(std::uint32_t bits, [[maybe_unused]] const void* place) noexcept {
  using Decoding = typename Group::Decoding;
  if constexpr (kWriteBarrierOf<Group> == WriteBarrier::Generational) {
    // One call for both: between two, compilers would keep their values on the stack, and for that any stored value.
    if (is_any_marking<Group>() || barrier_details::old_places[Decoding::kCageSlot].holds(place)) [[unlikely]]
      barrier_details::mark_or_remember<Decoding>(bits, place);
  } else {
    if (is_any_marking<Group>()) [[unlikely]]
      barrier_details::mark_bits<Decoding>(bits);
  }
}

// After Members of a collected object were written without a barrier, before anything is allocated. Marks the object
// and all it points to, in its turn; weak call-backs that it registers may then be called more than once.
template <class T>
void trace_again(const T* object) noexcept {
  using Group = typename T::GcGroup;
  constexpr std::size_t kSlot = Group::Decoding::kCageSlot;
  if (is_any_marking<Group>()) [[unlikely]]
    barrier_details::trace_again(kSlot, object);
  if constexpr (kWriteBarrierOf<Group> == WriteBarrier::Generational) {
    if (barrier_details::old_places[kSlot].holds(object)) [[unlikely]]
      barrier_details::remember(kSlot, object);
  }
}

}  // namespace tare::inline TARE_ABI::gc
