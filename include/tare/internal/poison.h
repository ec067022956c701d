// tare/internal/poison.h: marks bytes of a pool as inaccessible for the address sanitizer. Costs nothing in other
// builds.
//
// A pool poisons its free memory, new or returned, and unpoisons blocks that it hands out: an access to the rest is
// reported as "use-after-poison", with the stack. Bytes at either end that share a granule of 8 with bytes in use stay
// accessible. Compile all of a program with the sanitizer, or nothing.
#pragma once

#include <cstddef>

#include "tare/version.h"

#if defined(__SANITIZE_ADDRESS__)
#define TARE_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TARE_POISONS 1
#endif
#endif

#ifdef TARE_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace tare::inline TARE_ABI {

inline void poison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t size_bytes) noexcept {
#ifdef TARE_POISONS
  __asan_poison_memory_region(begin, size_bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t size_bytes) noexcept {
#ifdef TARE_POISONS
  __asan_unpoison_memory_region(begin, size_bytes);
#endif
}

}  // namespace tare::inline TARE_ABI
