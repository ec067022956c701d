// The counts of count_malloc.cc so far, for a bench program that it is preloaded into.
#pragma once

#include <cstdint>

extern "C" {
struct CountedMallocs {
  std::uint64_t calls;  // of malloc and realloc
  std::uint64_t bytes;  // usable, of all they returned
};
// Null where it isn't preloaded: then the program measures time.
__attribute__((weak)) CountedMallocs tare_counted_mallocs();
}
