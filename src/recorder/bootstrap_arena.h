// Memory for calls made while the real allocator is being looked up (dlsym may call calloc). Never given back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/attributes.h"

namespace tare::recorder {

class BootstrapArena {
 public:
  // Zeroed memory, or null when the arena is used up.
  void* allocate(std::size_t bytes, std::size_t align);
  std::size_t size_of(const void* block) const { return static_cast<const std::size_t*>(block)[-1]; }
  TARE_INLINE bool owns(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(bytes_) < kBytes;
  }

 private:
  static constexpr std::size_t kBytes = 64 << 10;  // dlsym's needs are some hundred bytes
  alignas(16) char bytes_[kBytes] = {};
  std::atomic<std::size_t> used_{0};
};

extern BootstrapArena bootstrap_arena;

}  // namespace tare::recorder
