#include "lib/gc/roots/stack_scan.h"

#include <pthread.h>

#include "lib/gc/marking/marker.h"
#include "lib/gc/threads/stop.h"
#include "tare/internal/poison.h"

#ifdef TARE_POISONS
#include <sanitizer/asan_interface.h>
#endif

// Reads other functions' frames, which sanitizers would report.
#define TARE_GC_READS_ANYTHING __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

namespace tare::inline TARE_ABI::gc {

namespace {

// Locals that the address sanitizer has moved from the stack to where it finds uses after return.
TARE_GC_READS_ANYTHING void scan_fake_frame([[maybe_unused]] Marker& marker, [[maybe_unused]] std::uintptr_t word) {
#ifdef TARE_POISONS
  void* fake = __asan_get_current_fake_stack();
  if (fake == nullptr) return;
  void* begin = nullptr;
  void* end = nullptr;
  if (__asan_addr_is_in_fake_stack(fake, reinterpret_cast<void*>(word), &begin, &end) == nullptr) return;
  for (auto* at = static_cast<const std::uintptr_t*>(begin); at < static_cast<const std::uintptr_t*>(end); ++at) {
    marker.consider_word(*at);
  }
#endif
}

TARE_GC_READS_ANYTHING void scan_up_from_here(Marker& marker, const void* end) {
  const auto* word = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  constexpr std::size_t kMost = std::size_t{1} << 32;
  if (word > end || reinterpret_cast<std::uintptr_t>(end) - reinterpret_cast<std::uintptr_t>(word) > kMost) {
    stop("a heap collects on a stack that it doesn't know: see tare/gc/stacks.h");
  }
  for (; word < end; ++word) {
    marker.consider_word(*word);
    scan_fake_frame(marker, *word);
  }
}

}  // namespace

TARE_GC_READS_ANYTHING void scan_words(Marker& marker, const std::uintptr_t* words, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) marker.consider_word(words[i]);
}

TARE_GC_READS_ANYTHING void scan_left_stack(Marker& marker, const void* begin, const void* end) noexcept {
  for (auto* word = static_cast<const std::uintptr_t*>(begin); word < end; ++word) {
    marker.consider_word(*word);
    scan_fake_frame(marker, *word);
  }
}

// Registers that a call must keep are pushed into this frame, which lies above the one that is scanned from.
TARE_GC_READS_ANYTHING void scan_stack(Marker& marker, const void* end) noexcept {
  __builtin_unwind_init();
  scan_up_from_here(marker, end);
  asm volatile("");  // no tail call: it would pop them before
}

const void* stack_end_of_thread() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* begin = nullptr;
  std::size_t bytes = 0;
  const bool is_known = pthread_attr_getstack(&attributes, &begin, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  return is_known ? static_cast<const std::byte*>(begin) + bytes : nullptr;
}

__attribute__((noinline)) bool is_on_stack(const void* address) noexcept {
  static thread_local const void* const end = stack_end_of_thread();  // the system reads a file for it
  if (address >= __builtin_frame_address(0) && address < end) return true;
#ifdef TARE_POISONS
  void* fake = __asan_get_current_fake_stack();
  return fake != nullptr && __asan_addr_is_in_fake_stack(fake, const_cast<void*>(address), nullptr, nullptr) != nullptr;
#else
  return false;
#endif
}

}  // namespace tare::inline TARE_ABI::gc
