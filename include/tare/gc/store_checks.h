// tare/gc/store_checks.h: checks each store into a Member, to find those in places that the collector doesn't see.
//
// Stores are checked where assertions are: unless NDEBUG is defined. -DTARE_GC_STORE_CHECKS=0 or =1 decides for all
// groups, a group for itself:
//
//   struct EditorHeaps {
//     using Decoding = tare::gc::SplitDecoding<1>;
//     static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
//     static constexpr tare::gc::StoreChecks kStoreChecks = tare::gc::StoreChecks::Full;
//   };
//
// Files of one program should agree. Where they don't, a function that has a Member as a parameter or result isn't
// found by the linker, as its name is another.
//
// The program ends with a message where a Member or WeakMember is given
//   - what is no object of the group's heaps;
//   - an object of another heap than the one that the Member itself lies in;
//   - on a thread's stack, an object of another thread's heap;
//   - anything, where it lies neither in a heap nor on the stack: in a global, or in what malloc gave, as the elements
//     of a std::vector do, and what a lambda captured that a std::function holds. Nobody would find it there; take a
//     Persistent or a RootedVector. (Where an object owns such memory and traces it itself, its group has no checks.)
// Some 10 ns a store. UntracedMember isn't checked, nor is UncompressedMember.
//
// Source of the idea: Oilpan's checking policies for Members, which learn a Member's heap from its first object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

#ifndef TARE_GC_STORE_CHECKS
#ifdef NDEBUG
#define TARE_GC_STORE_CHECKS 0
#else
#define TARE_GC_STORE_CHECKS 1
#endif
#endif

enum class StoreChecks : std::uint8_t { None, Full };

// Two variables of different names in files that don't agree.
#if TARE_GC_STORE_CHECKS
inline namespace with_store_checks {
template <class Group>
inline constexpr StoreChecks kStoreChecksOf = StoreChecks::Full;
#else
inline namespace without_store_checks {
template <class Group>
inline constexpr StoreChecks kStoreChecksOf = StoreChecks::None;
#endif
template <class Group>
  requires requires { Group::kStoreChecks; }
inline constexpr StoreChecks kStoreChecksOf<Group> = Group::kStoreChecks;
}  // namespace with_store_checks or without_store_checks

namespace store_checks_details {
// Of a Member at `place` that was given the object.
TARE_API void check(std::size_t slot, const void* place, const void* object) noexcept;
}  // namespace store_checks_details

}  // namespace tare::inline TARE_ABI::gc
