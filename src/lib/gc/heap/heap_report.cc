// The report of a heap's objects.
#include <bit>
#include <cstdio>
#include <string>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/heap/types.h"
#include "tare/memory_reporter.h"

namespace tare::inline TARE_ABI::gc {

void HeapBase::walk_types(void (*each)(void* context, const TypeUse& type), void* context) const {
  Rows<TypeUse> types;
  static_cast<HeapImpl&>(*core_).add_types(types);
  for (const TypeUse& type : types) {
    if (type.objects != 0) each(context, type);
  }
}

void HeapImpl::add_types(Rows<TypeUse>& types) noexcept {
  for_each_object([&](std::uintptr_t object, std::size_t cell_bytes) {
    const std::uint32_t type = header_of(reinterpret_cast<const void*>(object)).type();
    while (types.size() <= type) types.push({});
    TypeUse& use = types[type];
    ++use.objects;
    use.cell_bytes += cell_bytes;
  });
  for (std::size_t i = 0; i < types.size(); ++i) types[i].name = types_by_index[i].name;
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
  sink.non_heap("free-cells",
                now.page_bytes > cells + now.discarded_bytes ? now.page_bytes - cells - now.discarded_bytes : 0,
                "of pages that have objects, without what was given back to the system");
  sink.non_heap("pooled", now.pooled_bytes, "empty pages that are kept for the next allocations");
}

CageUse HeapBase::cage_use() const noexcept { return static_cast<HeapImpl&>(*core_).space().cage().use(); }

void HeapBase::report_cage(ReportSink& sink) const {
  Space& space = static_cast<HeapImpl&>(*core_).space();
  const CageUse use = space.cage().use();
  space.cage().report(sink);
  const std::size_t units = use.used_bytes / cell::kUnitBytes;
  const std::size_t bits = space.old_places() == nullptr ? 2 : 3;
  sink.non_heap("tables", units * (sizeof(Page) + bits * Space::kWordsOfUnit * sizeof(std::uint64_t)),
                "what is known of pages in use, and two bits for 16 bytes of them, or three");
  const std::size_t room = use.reserved_bytes - space.cage().guard_bytes();
  const std::size_t free = room - use.used_bytes;
  const auto hundredths = [](std::size_t part, std::size_t whole) {
    return whole == 0 ? 0U : static_cast<std::uint32_t>(part * 10'000 / whole);
  };
  sink.percentage("occupancy", hundredths(use.used_bytes, room), "of the cage, by pages of all heaps in it");
  sink.percentage("fragmentation", hundredths(free - use.largest_free_bytes, free),
                  "of what is free in the cage, how much lies outside of the longest run");
}

std::array<SizeUse, cell::kClasses + 1> HeapImpl::sizes() noexcept {
  std::array<SizeUse, cell::kClasses + 1> all{};
  for_each_page([&](Page& page) {
    const bool is_large = page.kind == Page::Kind::Large;
    SizeUse& size = all[is_large ? cell::kClasses : page.size_class];
    size.cell_bytes = is_large ? 0 : page.cell_bytes;
    ++size.pages;
    size.page_bytes += page.run_bytes;
    for (std::uint32_t i = 0; i < page.units; ++i) {
      const std::uint16_t parts = space_.page(space_.unit_of(page) + i).discarded;
      size.discarded_bytes += static_cast<std::size_t>(std::popcount(parts)) * kDiscardedBytes;
    }
    size.cells += page.cells;
    for (std::uint32_t cell = 0; cell < page.cells; ++cell) size.objects += has_object(page, cell) ? 1 : 0;
  });
  return all;
}

// The end of objects whose constructors threw isn't reported: they stay in the recording.
void HeapImpl::tell_dead() noexcept {
  for_each_object([&](std::uintptr_t object, std::size_t) {
    if (!space_.is_marked(object)) pool_.died(reinterpret_cast<const void*>(object));
  });
}

// Walking costs 5 ns an object, a tenth of marking it. So it is done only for a recorder, and if there may be a tenth
// more than in the last report.
void HeapImpl::tell_types() noexcept {
  if (!pool_.is_recorded() || live_bytes_ + allocated_bytes_ <= told_bytes_ + told_bytes_ / 10) return;
  Rows<TypeUse> types;
  add_types(types);
  told_bytes_ = 0;
  pool_.tell_pages(page_bytes_);
  for (const TypeUse& type : types) {
    if (type.objects == 0) continue;
    pool_.tell_type(type);
    told_bytes_ += type.cell_bytes;
  }
}

}  // namespace tare::inline TARE_ABI::gc
