// Private zeroed memory of the recorder's own, straight from the kernel: costs address space until it's touched, and
// none of RLIMIT_DATA where it's large. A list of it is kept for the launcher.
#pragma once

#include <cstdint>

#include "trace/model/own_ranges.h"

namespace tare::recorder {

// Null where there's none. Async-signal-safe; from any thread.
void* reserve_zeroed(std::uint64_t bytes);
// Lists the library's own zeroed data, whose pages have no file and no name. Called once.
void list_zeroed_data(const char* start, const char* end);
// Later memory isn't locked although the program has locked all that it maps from now on.
void keep_memory_unlocked(bool wanted);
// Frees the memory of one call of reserve_zeroed().
void give_back(void* memory, std::uint64_t bytes);

const trace::OwnRanges& own_ranges();

}  // namespace tare::recorder
