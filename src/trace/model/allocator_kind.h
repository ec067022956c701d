// The allocator that a process uses, as its recorder finds it at start. Numbers are part of spools and traces.
#pragma once

#include <cstdint>

namespace tare::trace {

enum class AllocatorKind : std::uint32_t { Unknown = 0, Glibc = 1, Jemalloc = 2, Mimalloc = 3, Tcmalloc = 4, Musl = 5 };

}  // namespace tare::trace
