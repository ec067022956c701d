// tare/gc/cage_bases.h: where the collector's cages lie, as constants.
//
// A decoded pointer needs its cage's base. The program finds it out only at run time, when the cage is reserved; but
// nothing may make compilers believe that a call could change it, or they load it again after each. So the bases are
// declared constant here, and written once by the library, where they're another variable by the same name. gcc and
// clang both load it once a function then; of an attribute on a function that returns it, gcc forgets when it inlines.
//
// What follows from that: a loop may not both make a program's first heap of a group and use its Members. The compiler
// may load the base before the loop, when it isn't known yet.
//
// Source: "Pointer compression in Oilpan" (2022), where attributes made clang alone do this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/export.h"

namespace tare::gc {

inline constexpr std::size_t kCageSlots = 16;

// An array and no class: clang believes of arrays alone that they're constant where it doesn't see what is in them.
using CageBases = std::uintptr_t[kCageSlots];  // as each slot's decoding wants it; 0: no cage yet

#ifndef TARE_SHARED
#pragma GCC visibility push(hidden)  // no way by the global offset table; src/lib/gc/inline_state.h keeps copies equal
#endif
extern TARE_API const CageBases cage_bases;
#ifndef TARE_SHARED
#pragma GCC visibility pop
#endif

}  // namespace tare::gc
