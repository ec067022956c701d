#include "lib/gc/heap/heap_pool.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tare::inline TARE_ABI::gc {

HeapPool::HeapPool() noexcept : pool_(tare_pool_create("tare::gc::Heap")) {
  if (pool_ == 0) return;
  const char* wanted = std::getenv("TARE_GC_RECORD");  // heaps are made by any thread: no thread should set it
  has_objects_ = wanted != nullptr && std::string_view(wanted) == "objects";
}

void HeapPool::report(const char* what, std::string_view name, std::size_t amount) const noexcept {
  char path[1024];
  std::snprintf(path, sizeof path, "tare::gc::Heap/%llu/%s%s%.*s", static_cast<unsigned long long>(pool_), what,
                name.empty() ? "" : "/", static_cast<int>(name.size()), name.data());
  tare_report_amount(path, amount);
}

void HeapPool::tell_type(const TypeUse& type) const noexcept {
  report("objects", type.name, type.objects);
  report("cells", type.name, type.cell_bytes);
}

}  // namespace tare::inline TARE_ABI::gc
