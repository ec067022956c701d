// Releases memory to the kernel: empty pages, and system pages among free cells of pages in use.
#include <algorithm>

#include "lib/cage/system_pages.h"
#include "lib/gc/heap/heap_impl.h"

namespace tare::inline TARE_ABI::gc {

namespace {

std::uint16_t bit_of(std::uintptr_t part) noexcept {
  return static_cast<std::uint16_t>(1U << (part % cell::kUnitBytes / kDiscardedBytes));
}

}  // namespace

void HeapImpl::release_pooled() noexcept {
  const std::uint32_t unit = pooled_;
  pooled_ = space_.page(unit).next;
  pooled_bytes_ -= space_.page(unit).run_bytes;
  pool_.shrink(reinterpret_cast<const void*>(space_.address_of(unit)));
  space_.give_back(unit);
}

void HeapImpl::release_all_pooled() noexcept {
  while (pooled_ != 0) release_pooled();
}

void HeapImpl::trim() noexcept {
  release_all_pooled();
  if (is_busy_) return;
  finish_sweeping();
  for_each_page([&](Page& page) {
    if (page.kind == Page::Kind::Cells) discard_free_cells(page);
  });
}

// For cells that weren't taken since the sweep: their contents aren't read before they are handed out.
void HeapImpl::discard_free_cells(Page& page) noexcept {
  const std::size_t system_page = std::max(system_pages::page_bytes(), kDiscardedBytes);
  std::uint32_t end = 0;
  for (std::uint32_t begin = page.cursor; free_cells_of(page, begin, end); begin = end) {
    const std::uintptr_t from = (object_of(page, begin) - sizeof(CellHeader) + system_page - 1) & ~(system_page - 1);
    const std::uintptr_t free_end = end == page.cells ? space_.address_of(space_.unit_of(page) + page.units)
                                                      : object_of(page, end) - sizeof(CellHeader);
    const std::uintptr_t to = free_end & ~(system_page - 1);
    if (from >= to) continue;
    const std::size_t before = discarded_bytes_;
    for (std::uintptr_t part = from; part < to; part += kDiscardedBytes) {
      Page& unit = space_.page(space_.unit_of(part));
      const std::uint16_t bit = bit_of(part);
      if ((unit.discarded & bit) == 0) discarded_bytes_ += kDiscardedBytes;
      unit.discarded |= bit;
    }
    if (discarded_bytes_ != before) space_.cage().discard(reinterpret_cast<std::byte*>(from), to - from);
  }
}

// Memory that was handed out, or that doesn't belong to the heap any more.
void HeapImpl::forget_discarded(std::uintptr_t begin, std::uintptr_t end) noexcept {
  for (std::uintptr_t part = begin & ~(kDiscardedBytes - 1); part < end; part += kDiscardedBytes) {
    Page& unit = space_.page(space_.unit_of(part));
    const std::uint16_t bit = bit_of(part);
    if ((unit.discarded & bit) != 0) discarded_bytes_ -= kDiscardedBytes;
    unit.discarded &= static_cast<std::uint16_t>(~bit);
  }
}

}  // namespace tare::inline TARE_ABI::gc
