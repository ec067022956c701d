// What a heap says of its objects.
#include <cstdio>
#include <string>

#include "lib/gc/heap_impl.h"
#include "lib/gc/types.h"
#include "tare/memory_reporter.h"

namespace tare::gc {

void HeapBase::walk_types(void (*each)(void* context, const TypeUse& type), void* context) const {
  auto& heap = static_cast<HeapImpl&>(*core_);
  Rows<TypeUse> types;
  heap.for_each_object([&](std::uintptr_t object, std::size_t cell_bytes) {
    const std::uint32_t type = header_of(reinterpret_cast<const void*>(object)).type();
    while (types.size() <= type) types.push({});
    TypeUse& use = types[type];
    ++use.objects;
    use.cell_bytes += cell_bytes;
  });
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].objects == 0) continue;
    types[i].name = types_by_index[i].name;
    each(context, types[i]);
  }
}

void HeapBase::report(ReportSink& sink) const {
  std::size_t cells = 0;
  for_each_type([&](const TypeUse& type) {
    std::string path(type.name);
    for (char& c : path) {
      if (c == '/') c = '\\';  // as everywhere in paths of reports
    }
    sink.non_heap(path + "/cells", type.cell_bytes, "objects with their headers, dead ones included");
    cells += type.cell_bytes;
  });
  const HeapUse now = use();
  sink.non_heap("free-cells", now.page_bytes > cells ? now.page_bytes - cells : 0, "of pages that have objects");
  sink.non_heap("pooled", now.pooled_bytes, "empty pages that are kept for the next allocations");
}

}  // namespace tare::gc
