// A collection from beginning to end, and the sweep that follows.
#include <time.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include "lib/gc/heap_impl.h"
#include "lib/gc/locks.h"
#include "lib/gc/marker.h"
#include "lib/gc/stop.h"
#include "lib/gc/types.h"
#include "tare/poison.h"

namespace tare::gc {

namespace {

std::size_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::size_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::size_t>(now.tv_nsec);
}

}  // namespace

void HeapImpl::collect(StackState stack) noexcept {
  if (disallow_scopes != 0) stop("a collection in a DisallowCollectionScope");
  if (no_collection_scopes != 0 || is_busy_) return;
  finish_sweeping();
  const std::size_t begin_ns = now_ns();
  retire_stretches();
  {
    // Where other threads have roots here, they can't make a weak one strong while it is decided who lives.
    const std::lock_guard lock(locks().cross_roots);
    Marker marker(*this);
    marker.mark_roots();
    if (stack == StackState::MayHoldPointers) marker.mark_stack();
    marker.finish_strong();
    if (options_.verifies) marker.verify();
    is_busy_ = true;
    marker.call_weak_callbacks();
    marker.clear_weak();
    last_stack_roots_ = marker.stack_roots();
  }
  run_prefinalizers(false);
  count_live();
  allocated_bytes_ = 0;
  set_limit();
  for (PageList& pages : lists_[static_cast<std::size_t>(Finalization::None)]) sweep_list(pages, false);
  for (PageList& pages : lists_[static_cast<std::size_t>(Finalization::Destructor)]) {
    for (std::uint32_t unit = pages.first; unit != 0; unit = space_.page(unit).next)
      space_.page(unit).needs_sweep = true;
    pages.current = pages.first;
  }
  sweep_large();
  while (pooled_bytes_ > limit_bytes_) {
    const std::uint32_t unit = pooled_;
    pooled_ = space_.page(unit).next;
    pooled_bytes_ -= space_.page(unit).run_bytes;
    space_.give_back(unit);
  }
  is_busy_ = false;
  ++collections_;
  last_pause_ns_ = now_ns() - begin_ns;
}

// Cells that were taken and aren't objects yet are free again, which the page remembers until it is swept.
void HeapImpl::retire_stretches() noexcept {
  for (auto& of_kind : stretches_) {
    for (Stretch& stretch : of_kind) {
      if (stretch.next != stretch.end) {
        Page* page = &space_.page(space_.unit_of(stretch.next));
        if (page->kind == Page::Kind::Tail) page = &space_.page(page->first_unit);
        page->hole_begin = cell_at(*page, stretch.next);
        page->hole_end = std::min(page->cells, cell_at(*page, stretch.end));
      }
      stretch = {};
    }
  }
  for (auto& of_kind : free_cells_) std::fill(std::begin(of_kind), std::end(of_kind), FreeCells{});
}

void HeapImpl::count_live() noexcept {
  live_bytes_ = live_objects_ = 0;
  for_each_page([&](Page& page) {
    const std::uint64_t* words = space_.marks() + space_.unit_of(page) * Space::kWordsOfUnit;
    const std::size_t count = page.kind == Page::Kind::Large ? 1 : page.units * Space::kWordsOfUnit;
    std::size_t live = 0;
    for (std::size_t i = 0; i < count; ++i) live += static_cast<std::size_t>(std::popcount(words[i]));
    page.live_cells = static_cast<std::uint32_t>(live);
    live_objects_ += live;
    live_bytes_ += live * bytes_of_cells(page);
  });
}

void HeapImpl::set_limit() noexcept {
  const std::size_t growth = live_bytes_ / 100 * options_.growth_percent;
  limit_bytes_ = std::max(growth, options_.least_growth_bytes);
}

// What was marked is used, nothing else, and nothing is marked.
void HeapImpl::sweep_words(Page& page) noexcept {
#ifdef TARE_POISONS
  for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
    const std::uintptr_t object = object_of(page, cell);
    if (!space_.is_marked(object)) poison(&header_of(reinterpret_cast<void*>(object)), bytes_of_cells(page));
  }
#endif
  const std::size_t first = space_.unit_of(page) * Space::kWordsOfUnit;
  const std::size_t count = page.kind == Page::Kind::Large ? 1 : page.units * Space::kWordsOfUnit;
  std::uint64_t* marks = space_.marks() + first;
  std::uint64_t* used = space_.used() + first;
  for (std::size_t i = 0; i < count; ++i) {
    used[i] = marks[i];
    marks[i] = 0;
  }
  page.cursor = page.hole_begin = page.hole_end = 0;
}

void HeapImpl::sweep_with_destructors(Page& page) noexcept {
  const bool was_busy = std::exchange(is_busy_, true);
  for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
    const std::uintptr_t object = object_of(page, cell);
    if (!has_object(page, cell) || space_.is_marked(object)) continue;
    CellHeader& header = header_of(reinterpret_cast<void*>(object));
    const auto finalize = types_by_index[header.type()].finalize;
    if (finalize != nullptr && !header.is_in_construction()) finalize(reinterpret_cast<void*>(object));
    header.bits = 0;
  }
  sweep_words(page);
  page.needs_sweep = false;
  is_busy_ = was_busy;
}

void HeapImpl::sweep_list(PageList& pages, bool only_needed) noexcept {
  std::uint32_t* link = &pages.first;
  while (*link != 0) {
    const std::uint32_t unit = *link;
    Page& page = space_.page(unit);
    if (page.needs_sweep) {
      sweep_with_destructors(page);
    } else if (!only_needed) {
      sweep_words(page);
    } else {
      link = &page.next;
      continue;
    }
    if (page.live_cells == 0) {
      *link = page.next;
      drop_page(unit);
    } else {
      link = &page.next;
    }
  }
  if (!only_needed) pages.current = pages.first;
}

void HeapImpl::sweep_large() noexcept {
  std::uint32_t* link = &large_.first;
  while (*link != 0) {
    const std::uint32_t unit = *link;
    Page& page = space_.page(unit);
    if (page.live_cells != 0) {
      sweep_words(page);
      link = &page.next;
      continue;
    }
    if (page.has_destructors) sweep_with_destructors(page);
    *link = page.next;
    drop_page(unit);
  }
}

void HeapImpl::finish_sweeping() noexcept {
  if (is_busy_) return;
  for (PageList& pages : lists_[static_cast<std::size_t>(Finalization::Destructor)]) {
    // Pages before the current one are swept, and stay: they're full.
    const std::uint32_t current = pages.current;
    if (current == 0) continue;
    std::uint32_t* link = &pages.first;
    while (*link != current) link = &space_.page(*link).next;
    PageList rest{current, 0};
    sweep_list(rest, true);
    *link = rest.first;
    pages.current = rest.first;
  }
}

void HeapImpl::run_prefinalizers(bool all) noexcept {
  const bool was_busy = std::exchange(is_busy_, true);
  std::size_t kept = prefinalizers_.size();
  for (std::size_t i = prefinalizers_.size(); i-- > 0;) {
    const Prefinalizer prefinalizer = prefinalizers_[i];
    if (!all && space_.is_marked(reinterpret_cast<std::uintptr_t>(prefinalizer.object))) {
      prefinalizers_[--kept] = prefinalizer;  // from the end downwards: the order stays
    } else {
      prefinalizer.call(prefinalizer.object);
    }
  }
  std::move(prefinalizers_.begin() + kept, prefinalizers_.end(), prefinalizers_.begin());
  prefinalizers_.set_size(prefinalizers_.size() - kept);
  is_busy_ = was_busy;
}

}  // namespace tare::gc
