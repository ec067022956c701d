// Which cells of a page are objects, and which are free.
#include <algorithm>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/heap/types.h"

namespace tare::inline TARE_ABI::gc {

namespace {

// The first set bit of [begin, end); end if there is none.
std::size_t next_set(const std::uint64_t* bits, std::size_t begin, std::size_t end) noexcept {
  std::size_t word = begin / 64;
  std::uint64_t rest = bits[word] & ~std::uint64_t{0} << (begin % 64);
  while (rest == 0) {
    if (++word * 64 >= end) return end;
    rest = bits[word];
  }
  return std::min(end, word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
}

}  // namespace

bool HeapImpl::has_object(const Page& page, std::uint32_t cell) noexcept {
  const std::uintptr_t object = object_of(page, cell);
  if (page.needs_sweep && !page.has_destructors) {
    if (!space_.is_marked(object)) return false;
  } else if (cell >= page.cursor) {
    if (!Space::test(space_.used(), space_.bit_of(object))) return false;
  } else if (cell >= page.hole_begin && cell < page.hole_end) {
    return false;
  } else if (page.kind == Page::Kind::Cells) {
    const Stretch& stretch = stretches_[list_of(page)][page.size_class];
    if (object >= stretch.next && object < stretch.end) return false;
  }
  return header_of(reinterpret_cast<void*>(object)).type() != 0;
}

std::uintptr_t HeapImpl::find(std::uintptr_t address, bool is_start_only) noexcept {
  if (!space_.contains(address)) return 0;
  if (space_.page(space_.unit_of(address)).heap.load(std::memory_order_relaxed) != this) return 0;
  const Page& page = space_.page_around(address);
  const std::uint32_t cell = cell_at(page, address);
  if (cell == page.cells || !has_object(page, cell)) return 0;
  const std::uintptr_t object = object_of(page, cell);
  if (address < object) return 0;  // the header
  if (is_start_only && address != object) {
    const TypeInfo& type = types_by_index[header_of(reinterpret_cast<void*>(object)).type()];
    if (!type.has_mixins || (address - object) % cell::kGranuleBytes != 0) return 0;
  }
  return object;
}

std::uintptr_t HeapImpl::start_of(std::uintptr_t address) noexcept {
  if (!space_.contains(address)) return 0;
  const Page* page = &space_.page(space_.unit_of(address));
  return page->heap.load(std::memory_order_relaxed) == this ? start_in_page(address) : 0;
}

std::uintptr_t HeapImpl::object_around(std::uintptr_t address) noexcept { return find(address, false); }
std::uintptr_t HeapImpl::object_at(std::uintptr_t address) noexcept { return find(address, true); }

bool HeapImpl::free_cells_of(const Page& page, std::uint32_t& begin, std::uint32_t& end) noexcept {
  const std::uint32_t unit = space_.unit_of(page);
  const std::size_t first_bit = std::size_t{unit} * Space::kWordsOfUnit * 64;
  const auto bit_of_cell = [&](std::uint32_t cell) {
    return first_bit + (cell::kFirstObject + std::size_t{cell} * page.cell_bytes) / cell::kMarkGranuleBytes;
  };
  while (begin < page.cells && Space::test(space_.used(), bit_of_cell(begin))) ++begin;
  if (begin >= page.cells) return false;
  const std::size_t end_bit = first_bit + std::size_t{page.units} * Space::kWordsOfUnit * 64;
  const std::size_t used_bit = next_set(space_.used(), bit_of_cell(begin), end_bit);
  // The used bit stands for 16 bytes. One cell begins in them, because no cell is smaller.
  end = used_bit == end_bit
            ? page.cells
            : static_cast<std::uint32_t>(((used_bit - first_bit) * cell::kMarkGranuleBytes - 1) / page.cell_bytes);
  return true;
}

// The next free cells of a page from its cursor on, as many as follow each other.
bool HeapImpl::next_stretch_of(Page& page, Stretch& stretch) noexcept {
  std::uint32_t begin = page.cursor;
  std::uint32_t end = 0;
  if (!free_cells_of(page, begin, end)) {
    page.cursor = page.cells;
    return false;
  }
  if (pool_.has_objects()) end = begin + 1;  // each is reported
  page.cursor = end;
  stretch = {object_of(page, begin), object_of(page, end)};
  if (discarded_bytes_ != 0) forget_discarded(stretch.next, stretch.end);
  return true;
}

}  // namespace tare::inline TARE_ABI::gc
