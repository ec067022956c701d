// Asks the allocator in use for the bytes in live blocks.
#include <cstddef>
#include <cstring>

#include <dlfcn.h>
#include <malloc.h>

#include "tare/memory_snapshot.h"

namespace tare {
namespace {

// By name and at run time: which allocator a program runs with is decided by LD_PRELOAD as often as by the linker.
template <typename Function>
Function* find(const char* name) {
  void* const symbol = ::dlsym(RTLD_DEFAULT, name);
  Function* function = nullptr;
  static_assert(sizeof function == sizeof symbol);
  std::memcpy(&function, &symbol, sizeof symbol);
  return function;
}

using Mallctl = int(const char* name, void* old, std::size_t* old_bytes, void* now, std::size_t now_bytes);
using TcmallocProperty = int(const char* name, std::size_t* value);
struct Mallinfo2 {  // glibc's struct mallinfo2, which headers before 2.33 lack
  std::size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

std::optional<std::uint64_t> ask_jemalloc(Mallctl* mallctl) {
  std::uint64_t epoch = 1;  // its figures are as old as the last change of this
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
  std::size_t bytes = 0, size = sizeof bytes;
  if (mallctl("stats.allocated", &bytes, &size, nullptr, 0) != 0) return std::nullopt;  // built without statistics
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> heap_allocated_bytes() {
  if (Mallctl* const mallctl = find<Mallctl>("mallctl")) return ask_jemalloc(mallctl);
  if (TcmallocProperty* const property = find<TcmallocProperty>("MallocExtension_GetNumericProperty")) {
    std::size_t bytes = 0;
    if (property("generic.current_allocated_bytes", &bytes) == 0) return std::nullopt;
    return bytes;
  }
  if (find<void*(std::size_t)>("mi_malloc") != nullptr)
    return std::nullopt;  // glibc would speak of a heap that nobody uses
  if (auto* const mallinfo2 = find<Mallinfo2()>("mallinfo2")) {
    const Mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  return std::nullopt;
}

}  // namespace tare
