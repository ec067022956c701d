// Places in another process for code and data that nothing uses: the rest of a library's last page of code, and a range
// of addresses without mappings.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "core/injection/loaded_objects.h"

namespace tare::core {

inline constexpr std::uint64_t kGapBytes = 1024;

// The address of kGapBytes behind the code of an object, up to the end of the page: of the C library if it has so many,
// else of any object. The same one each time, as long as the object is loaded.
std::optional<std::uint64_t> find_code_gap(pid_t pid, const LoadedObjects& objects);

// In the middle of the largest range without mappings; 0: there is none of that size.
std::uint64_t find_free_range(pid_t pid, std::uint64_t bytes);

}  // namespace tare::core
