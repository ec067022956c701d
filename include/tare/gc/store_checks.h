// tare/gc/store_checks.h: has each store into a Member of a group checked, to find those that lie where nobody sees
// them.
//
//   struct EditorHeaps {
//     using Decoding = tare::gc::SplitDecoding<1>;
//     static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
//   #ifdef EDITOR_DEBUG                               // the same in all of the program's files
//     static constexpr tare::gc::StoreChecks kStoreChecks = tare::gc::StoreChecks::Full;
//   #endif
//   };
//
// The program ends with a message where a Member or WeakMember is given
//   - what is no object of the group's heaps;
//   - an object of another heap than the one that the Member itself lies in;
//   - on a thread's stack, an object of another thread's heap;
//   - anything, where it lies neither in a heap nor on the stack: in a global, or in what malloc gave, as the elements
//   of
//     a std::vector do. Nobody would find it there; take a Persistent or a RootedVector.
// Some 10 ns a store. UntracedMember isn't asked, nor is UncompressedMember.
//
// Source of the idea: Oilpan's checking policies for Members, which learn a Member's heap from its first object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/export.h"

namespace tare::gc {

enum class StoreChecks : std::uint8_t { None, Full };

template <class Group>
inline constexpr StoreChecks kStoreChecksOf = StoreChecks::None;
template <class Group>
  requires requires { Group::kStoreChecks; }
inline constexpr StoreChecks kStoreChecksOf<Group> = Group::kStoreChecks;

namespace store_checks_details {
// Of a Member at `place` that was given the object.
TARE_API void check(std::size_t slot, const void* place, const void* object) noexcept;
}  // namespace store_checks_details

}  // namespace tare::gc
