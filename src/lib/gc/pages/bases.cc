// The bases of all groups' cages, variable here. tare/internal/gc/cage_bases.h, which this file doesn't see, declares
// the same symbol as a constant.
#include "lib/gc/pages/bases.h"

namespace tare::inline TARE_ABI::gc {

MutableCageBases mutable_cage_bases{};

// As in lib/gc/threads/inline_state.h, which sees the constant.
[[gnu::visibility("hidden")]] void join_inline_state(std::uintptr_t* bases) noexcept;
[[gnu::visibility("hidden")]] void leave_inline_state() noexcept;

namespace {

// Before any other code of the program or plug-in runs, and after all of it. Here, where each that reads a base gets
// it.
[[gnu::constructor(101)]] void join() { join_inline_state(mutable_cage_bases + 1); }
[[gnu::destructor(101)]] void leave() { leave_inline_state(); }

}  // namespace

}  // namespace tare::inline TARE_ABI::gc
