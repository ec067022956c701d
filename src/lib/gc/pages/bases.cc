// The bases of all groups' cages, variable here. tare/internal/gc/cage_bases.h, which this file doesn't see, declares
// the same symbol as a constant.
#include <cstddef>
#include <cstdint>

#include "tare/internal/export.h"
#include "tare/version.h"

// The mangled name of tare::gc::cage_bases. The length of TARE_ABI's name stands before it: of v0_1 or v0_1_0, whose
// numbers may have two digits.
#define TARE_TEXT_OF(name) #name
#define TARE_TEXT(name) TARE_TEXT_OF(name)
#ifdef TARE_SHARED
#define TARE_ABI_LETTERS (4 + (TARE_VERSION_MAJOR > 9) + (TARE_VERSION_MINOR > 9))
#else
#define TARE_ABI_LETTERS (6 + (TARE_VERSION_MAJOR > 9) + (TARE_VERSION_MINOR > 9) + (TARE_VERSION_PATCH > 9))
#endif
#if TARE_ABI_LETTERS == 4
#define TARE_ABI_LENGTH "4"
#elif TARE_ABI_LETTERS == 5
#define TARE_ABI_LENGTH "5"
#elif TARE_ABI_LETTERS == 6
#define TARE_ABI_LENGTH "6"
#elif TARE_ABI_LETTERS == 7
#define TARE_ABI_LENGTH "7"
#elif TARE_ABI_LETTERS == 8
#define TARE_ABI_LENGTH "8"
#else
#define TARE_ABI_LENGTH "9"
#endif
#define TARE_NAME_OF_BASES asm("_ZN4tare" TARE_ABI_LENGTH TARE_TEXT(TARE_ABI) "2gc10cage_basesE")

namespace tare::inline TARE_ABI::gc {

#if defined(__clang__)
extern TARE_API std::uintptr_t cage_bases_here[1 + 16] TARE_NAME_OF_BASES;
std::uintptr_t cage_bases_here[1 + 16] = {};  // the first is none
constexpr std::uintptr_t* slots = cage_bases_here + 1;
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
// Under -flto, gcc compares class, names of fields and const with the header's. `mutable` makes this one a variable.
struct CageBases {
  mutable std::uintptr_t first;
  mutable std::uintptr_t others[];
};
extern TARE_API const CageBases cage_bases_here TARE_NAME_OF_BASES;
const CageBases cage_bases_here = {0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
constexpr std::uintptr_t* slots = cage_bases_here.others;
#pragma GCC diagnostic pop
#endif

// As in lib/gc/threads/inline_state.h, which sees the constant.
[[gnu::visibility("hidden")]] void join_inline_state(std::uintptr_t* bases) noexcept;
[[gnu::visibility("hidden")]] void leave_inline_state() noexcept;

namespace {

// Before any other code of the program or plug-in runs, and after all of it. Here, where each that reads a base gets
// it.
[[gnu::constructor(101)]] void join() { join_inline_state(slots); }
[[gnu::destructor(101)]] void leave() { leave_inline_state(); }

}  // namespace

}  // namespace tare::inline TARE_ABI::gc
