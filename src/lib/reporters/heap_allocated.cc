// Queries the allocator in use for the bytes in live blocks.
#include <cstddef>

#include "lib/reporters/allocator_functions.h"
#include "tare/memory_snapshot.h"

namespace tare::inline TARE_ABI {
namespace {

using TcmallocProperty = int(const char* name, std::size_t* value);
struct Mallinfo2 {  // glibc's struct mallinfo2, which headers before 2.33 lack
  std::size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

std::optional<std::uint64_t> query_jemalloc(Mallctl* mallctl) {
  std::uint64_t epoch = 1;  // its figures are as old as the last change of this
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
  std::size_t bytes = 0, size = sizeof bytes;
  if (mallctl("stats.allocated", &bytes, &size, nullptr, 0) != 0) return std::nullopt;  // built without statistics
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> heap_allocated_bytes() {
  if (auto* const sanitizer = find_function<std::size_t()>("__sanitizer_get_current_allocated_bytes")) {
    return sanitizer();
  }
  if (Mallctl* const mallctl = find_function<Mallctl>("mallctl")) return query_jemalloc(mallctl);
  if (TcmallocProperty* const property = find_function<TcmallocProperty>("MallocExtension_GetNumericProperty")) {
    std::size_t bytes = 0;
    if (property("generic.current_allocated_bytes", &bytes) == 0) return std::nullopt;
    return bytes;
  }
  if (find_function<void*(std::size_t)>("mi_malloc") != nullptr)
    return std::nullopt;  // glibc would report an unused heap
  if (auto* const mallinfo2 = find_function<Mallinfo2()>("mallinfo2")) {
    const Mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  return std::nullopt;
}

}  // namespace tare::inline TARE_ABI
