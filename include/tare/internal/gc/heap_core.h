// tare/internal/gc/heap_core.h: the part of a heap that allocating inline needs: a stretch of free cells for each size.
//
// For tare/gc/make.h and tare/gc/explicit.h. Thread-safety: the heap's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/internal/export.h"
#include "tare/internal/gc/cell.h"
#include "tare/internal/poison.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// The common properties of a page's cells. Those without destructors are swept without being read.
enum class Finalization : std::uint8_t {
  None,
  Destructor,  // to be called
  Movable,     // none, and the container that owns a cell can move it
};
inline constexpr std::size_t kFinalizations = 3;

class TARE_API HeapCore {
 public:
  HeapCore(const HeapCore&) = delete;
  HeapCore& operator=(const HeapCore&) = delete;

  // Room for an object, in a cell of `size_class` or in a page of its own. Uninitialised; null if there is none. The
  // caller writes a header before any other call to the heap.
  [[nodiscard]] void* allocate(std::size_t size_class, Finalization finalization) noexcept {
    Stretch& stretch = stretches_[static_cast<std::size_t>(finalization)][size_class];
    if (stretch.next == stretch.end) [[unlikely]]
      return allocate_slowly(size_class, finalization);
    void* object = reinterpret_cast<void*>(stretch.next);
    stretch.next += cell::bytes_of(size_class);
    unpoison(&header_of(object), cell::bytes_of(size_class));
    return object;
  }
  [[nodiscard]] void* allocate_large(std::size_t cell_bytes, Finalization finalization) noexcept;

  void add_prefinalizer(void* object, void (*call)(void* object)) noexcept;

 protected:
  HeapCore() = default;
  ~HeapCore() = default;

  // Free cells that follow one another: where the next object will lie, and where one would if they hadn't ended.
  struct Stretch {
    std::uintptr_t next = 0;
    std::uintptr_t end = 0;
  };
  Stretch stretches_[kFinalizations][cell::kClasses];

 private:
  [[gnu::noinline]] void* allocate_slowly(std::size_t size_class, Finalization finalization) noexcept;
};

}  // namespace tare::inline TARE_ABI::gc
