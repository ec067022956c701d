// Finds likely pointers into a heap: on the stack, in registers, and in objects whose constructors run.
//
// Nothing there marks a word as a pointer. These words count as pointers:
//   - a full word that lies in the cage, by all its upper bits, anywhere within an object;
//   - a half-word that decodes to the very start of an object, or to a multiple of 8 within one that has mixins;
//   - and the same of what compilers may have in a register between the two: see Marker::consider_word.
// Oilpan takes any decoded half-word within an object, and any word with bit 32 set for the intermediate: at 1 GiB of
// objects in a cage of 4 every fourth native pointer on the stack keeps one alive for nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

class Marker;

// Of the calling thread, from here up to `end`. Ends the program if this isn't that stack.
void scan_stack(Marker& marker, const void* end) noexcept;

// Of a stack that isn't run on, from where it was left.
void scan_left_stack(Marker& marker, const void* begin, const void* end) noexcept;

void scan_words(Marker& marker, const std::uintptr_t* words, std::size_t count) noexcept;

// The end of the calling thread's stack, its highest address; null if the system doesn't report it.
const void* stack_end_of_thread() noexcept;

// True if the address lies in a frame of the calling thread, its callers' or its own.
bool is_on_stack(const void* address) noexcept;

}  // namespace tare::inline TARE_ABI::gc
