// The functions behind the symbols malloc, calloc, realloc and free: see passing.cc. Each calls the real function and
// records the call if it's to be recorded; their callers are the program's functions, which jumps lead here from.
#pragma once

#include <cstddef>

namespace tare::recorder {

extern "C" {
__attribute__((visibility("hidden"))) void* tare_recorded_malloc(std::size_t bytes);
__attribute__((visibility("hidden"))) void* tare_recorded_calloc(std::size_t count, std::size_t bytes);
__attribute__((visibility("hidden"))) void* tare_recorded_realloc(void* old, std::size_t bytes);
__attribute__((visibility("hidden"))) void tare_recorded_free(void* block);
// Of a request that a sampling recorder hasn't let pass: decided before the real call.
__attribute__((visibility("hidden"))) void* tare_decided_malloc(std::size_t bytes);
__attribute__((visibility("hidden"))) void* tare_decided_calloc(std::size_t count, std::size_t bytes);
__attribute__((visibility("hidden"))) void* tare_decided_realloc(std::size_t bytes);  // of a null pointer
}

}  // namespace tare::recorder
