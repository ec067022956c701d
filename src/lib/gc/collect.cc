// A collection all at once, and the end of every collection.
#include <algorithm>
#include <memory>
#include <utility>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/marking/marker.h"
#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

namespace {

#ifdef NDEBUG
constexpr bool kAlwaysVerifies = false;
#else
constexpr bool kAlwaysVerifies = true;
#endif

}  // namespace

void HeapImpl::collect(StackState stack) noexcept {
  if (disallow_scopes != 0) stop("a collection in a DisallowCollectionScope");
  if (no_collection_scopes != 0 || is_busy_) return;
  const Pause pause(pauses_);
  abort_marking();
  finish_sweeping();
  tell_types();
  make_all_young();
  const std::size_t begin_ns = now_ns();
  Marker marker(*this, mark_stack_, Marker::Sharing::None);
  marker.mark_roots();
  marker.drain(kNoDeadline);
  marking_ns_ = now_ns() - begin_ns;
  end_marking(marker, Extent::All, stack);
}

// Follows all marks to the end. Then unmarked objects are dead.
void HeapImpl::end_marking(Marker& marker, Extent extent, StackState stack) noexcept {
  const std::size_t begin_ns = now_ns();
  take_back_marking();
  std::unique_ptr<Marker> ended;
  {
    // Where other threads have roots here, they can't make a weak one strong meanwhile. Call-backs, which may have such
    // roots, come after the lock, when none of these is weak and dead any more.
    const Lock lock(locks().cross_roots);
    marker.mark_cross_roots();
    if (stack == StackState::MayHoldPointers) marker.mark_stack();
    marker.finish_strong();
    marker.clear_weak_cross_roots();
    marking_ns_ += now_ns() - begin_ns;
    retire_stretches();
    if (is_marking()) {
      stop_marking();
      ended.reset(std::exchange(marker_, nullptr));
    }
  }
  is_busy_ = true;
  marker.call_weak_callbacks();
  marker.clear_weak();
  last_stack_roots_ = marker.stack_roots();
  run_prefinalizers(false);
  if (kAlwaysVerifies || options_.verifies) marker.verify();
  const std::size_t live_bytes_before = live_bytes_;
  count_live();
  learn(extent, live_bytes_before);
  allocated_bytes_ = next_step_bytes_ = 0;
  if (extent == Extent::All) {
    full_live_bytes_ = live_bytes_;
    set_limit();
  }
  if (pool_.has_objects()) tell_dead();
  // After incremental marking, pages are freed by steps too.
  pool_limit_bytes_ = ended != nullptr ? SIZE_MAX : limit_bytes_;
  sweep();
  while (pooled_bytes_ > pool_limit_bytes_) release_pooled();
  is_busy_ = false;
  ++collections_;
  if (extent == Extent::Young) ++young_collections_;
}

// Taken cells that aren't objects yet become free again; the page keeps a list of them until it is swept.
void HeapImpl::retire_stretches() noexcept {
  if (is_marking()) {
    for_each_stretch([&](const Stretch& stretch, std::size_t cell_bytes) { unmark_cells(stretch, cell_bytes); });
  }
  for (auto& of_kind : stretches_) {
    for (Stretch& stretch : of_kind) {
      if (stretch.next != stretch.end) {
        Page& page = space_.page_around(stretch.next);
        page.hole_begin = cell_at(page, stretch.next);
        page.hole_end = std::min(page.cells, cell_at(page, stretch.end));
      }
      stretch = {};
    }
  }
  for (auto& of_kind : free_cells_) std::fill(std::begin(of_kind), std::end(of_kind), FreeCells{});
}

void HeapImpl::set_limit() noexcept {
  const std::size_t growth = live_bytes_ / 100 * options_.growth_percent;
  limit_bytes_ = std::max(growth, options_.least_growth_bytes);
}

// Computes the start of the next collection, and decides if it is incremental.
void HeapImpl::learn(Extent extent, std::size_t live_bytes_before) noexcept {
  constexpr std::size_t kEnoughBytes = std::size_t{256} << 10;  // with fewer, a prediction would be worthless
  if (allocated_bytes_ >= kEnoughBytes) {
    const double grown = static_cast<double>(live_bytes_) - static_cast<double>(live_bytes_before);
    survival_ = std::clamp(grown / static_cast<double>(allocated_bytes_), 0.0, 1.0);
  }
  if (extent == Extent::All && live_bytes_ >= kEnoughBytes) {
    marking_ns_a_byte_ = static_cast<double>(marking_ns_) / static_cast<double>(live_bytes_);
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

}  // namespace tare::inline TARE_ABI::gc
