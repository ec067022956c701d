// tare/arena_resource.h: an arena as a std::pmr::memory_resource, for the standard's containers.
//
//   tare::Arena arena;
//   tare::ArenaResource resource(arena);
//   std::pmr::vector<std::pmr::string> names(&resource);
//
// As std::pmr::monotonic_buffer_resource, but its chunks are without slop, and it can be rewound: memory that
// containers free stays until the arena frees it, after the containers' end. One thread at a time.
#pragma once

#include <cstdlib>
#include <memory_resource>
#include <new>

#include "tare/arena.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

class ArenaResource final : public std::pmr::memory_resource {
 public:
  // The arena outlives the resource, and the resource the containers.
  explicit ArenaResource(Arena& arena) noexcept : arena_(&arena) {}

  Arena& arena() const noexcept { return *arena_; }

 private:
  // Containers expect memory or an exception: std::bad_alloc where there are exceptions, else the end of the program.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (void* memory = arena_->allocate(bytes, alignment)) return memory;
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
  }
  void do_deallocate(void*, std::size_t, std::size_t) noexcept override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  Arena* arena_;
};

}  // namespace tare::inline TARE_ABI
