// tare/internal/gc/cage_bases.h: where the collector's cages lie, as constants.
//
// A decoded pointer needs its cage's base. It is known only at run time, when the cage is reserved; but compilers must
// not assume that a call could change it, or they load it again after each. So the bases are declared constant here,
// and written once by the library, which declares them as another variable with the same name. gcc and clang both load
// it once a function then; with an attribute on a function that returns it, gcc loses the effect when it inlines.
//
// Before the base is known it mustn't be loaded. So the array has no declared length: for compilers the load may fault,
// and they don't move it to a place from which it isn't certain to be reached. A call that may end the program, as
// making a heap is, makes that uncertain. One rule is left to the program: a function that makes a group's first heap
// must not decode null Members before.
//
// Source: "Pointer compression in Oilpan" (2022), where attributes made clang alone do this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

inline constexpr std::size_t kCageSlots = 16;

#ifndef TARE_SHARED
#pragma GCC visibility push( \
    hidden)  // no way by the global offset table; src/lib/gc/threads/inline_state.h keeps copies equal
#endif
// kCageSlots behind the first, in the form that each slot's decoding needs; 0: no cage yet. Read by cage_base() alone.
#if defined(__clang__)
// No class: clang treats only arrays as constant if it doesn't see their contents.
using CageBases = std::uintptr_t[];
#else
// No array: gcc doesn't treat an array of unknown length as constant.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
struct CageBases {
  std::uintptr_t first;
  std::uintptr_t others[];
};
#pragma GCC diagnostic pop
#endif
extern TARE_API const CageBases cage_bases;
#ifndef TARE_SHARED
#pragma GCC visibility pop
#endif

template <std::size_t kSlot>
[[gnu::always_inline]] inline std::uintptr_t cage_base() noexcept {
  static_assert(kSlot < kCageSlots);
#if defined(__clang__)
  return cage_bases[kSlot + 1];
#else
  return cage_bases.others[kSlot];
#endif
}

}  // namespace tare::inline TARE_ABI::gc
