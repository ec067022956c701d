#include "lib/gc/heap_pool.h"

#include <cstdlib>
#include <string_view>

namespace tare::gc {

HeapPool::HeapPool() noexcept : pool_(tare_pool_create("tare::gc::Heap")) {
  if (pool_ == 0) return;
  const char* wanted = std::getenv("TARE_GC_RECORD");  // heaps are made by any thread: nobody should be setting it
  has_objects_ = wanted != nullptr && std::string_view(wanted) == "objects";
}

}  // namespace tare::gc
