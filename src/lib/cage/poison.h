// Tells the address sanitizer which bytes nobody may touch. Costs nothing in other builds.
#pragma once

#include <cstddef>

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

namespace tare {

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

}  // namespace tare
