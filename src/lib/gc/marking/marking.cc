// Incremental marking: when a heap begins, the length of its steps, and the stores of the program meanwhile.
//
// Objects made while marking are marked from the beginning. They are never traced, so that the work ends, and only the
// heap's thread reads them. The targets of their references were stored, and marked by the store. The stack is no
// store: the last step scans it, and is no longer than others unless the program took much from the heap there, behind
// marking's back; then more steps follow and it is tried again.
#include <algorithm>
#include <new>
#include <utility>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/marking/marker.h"
#include "lib/gc/marking/marking_thread.h"
#include "lib/gc/marking/store_log.h"
#include "lib/gc/threads/inline_state.h"
#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

namespace {

constexpr std::size_t kStepsAGoal = 4;  // a step aims at a quarter of the goal: indivisible work comes on top
constexpr std::size_t kLeastStepBytes = std::size_t{16} << 10;
constexpr std::size_t kMostWindows = 8;  // twice the allocation between collections
constexpr std::uint32_t kMostScans = 4;  // of the stack, each followed by steps

}  // namespace

bool HeapImpl::collect_some(std::size_t budget_ns, StackState stack) noexcept {
  if (disallow_scopes != 0) stop("a collection in a DisallowCollectionScope");
  if (no_collection_scopes != 0 || is_busy_) return false;
  if (options_.marking == Marking::AtOnce) {
    collect(stack);
    return true;
  }
  const Pause pause(pauses_);
  return advance(pause, budget_ns, Help::Full, stack);
}

// In make(), when a stretch of cells is used up.
void HeapImpl::collect_as_due() noexcept {
  if (!is_marking()) {
    if (pooled_bytes_ > limit_bytes_) release_surplus();
    const std::size_t grown = grown_bytes();
    const bool is_due = grown + window_bytes() >= limit_bytes_;
    const bool is_at_once =
        is_due && (options_.marking == Marking::AtOnce || expected_marking_ns() <= options_.pause_goal_ns);
    if (!is_due || (is_at_once && grown < limit_bytes_)) {
      if (is_generational_ && allocated_bytes_ >= options_.young_bytes) collect_young(StackState::MayHoldPointers);
      return;
    }
    if (is_at_once) {
      collect(StackState::MayHoldPointers);
      return;
    }
  }
  if (allocated_bytes_ < next_step_bytes_) return;
  const Pause pause(pauses_);
  const std::size_t step_ns = options_.pause_goal_ns / kStepsAGoal;
  // Steps are planned for the window. If the plan was wrong, steps get longer rather than the heap larger; and a
  // program that allocates faster than marking waits in the end.
  const std::size_t late =
      is_marking() ? (allocated_bytes_ - marking_began_bytes_) / std::max<std::size_t>(1, window_bytes()) : 0;
  const std::size_t budget_ns =
      late < kMostWindows ? step_ns * std::min<std::size_t>(1 + late, kStepsAGoal) : kNoDeadline;
  const Help help = options_.marking == Marking::Concurrent && late == 0 ? Help::None : Help::Full;
  gives_stores_ =
      late == 0;  // or a program that stores faster than the stores are handled would keep marking from its end
  if (late >= kMostWindows) take_back_marking();
  advance(pause, budget_ns, help, StackState::MayHoldPointers);
  const std::size_t steps = expected_marking_ns() / std::max<std::size_t>(1, step_ns) + 1;
  next_step_bytes_ = allocated_bytes_ + std::max(kLeastStepBytes, window_bytes() / steps);
}

// Objects made while a heap is marked survive even if they die young: their limit is a quarter of the allocation
// between collections.
std::size_t HeapImpl::window_bytes() const noexcept { return limit_bytes_ / 4; }

std::size_t HeapImpl::expected_marking_ns() const noexcept {
  const double bytes = static_cast<double>(live_bytes_) + survival_ * static_cast<double>(allocated_bytes_);
  return static_cast<std::size_t>(bytes * marking_ns_a_byte_);
}

bool HeapImpl::advance(const Pause& pause, std::size_t budget_ns, Help help, StackState stack) noexcept {
  const std::size_t deadline_ns =
      budget_ns < kNoDeadline - pause.begin_ns() ? pause.begin_ns() + budget_ns : kNoDeadline;
  if (!is_marking()) {
    if (!sweep_until(deadline_ns)) return false;
    start_marking();
    if (!is_marking()) return false;
  }
  const bool is_marked = mark_until(deadline_ns, help) && mark_last_roots(deadline_ns, stack);
  marking_ns_ += pause.so_far_ns();
  if (!is_marked) return false;
  end_marking(*marker_, Extent::All, StackState::HoldsNone);  // it was read just now
  return true;
}

// Traces marked objects, or has another thread do it. True if all are traced.
bool HeapImpl::mark_until(std::size_t deadline_ns, Help help) noexcept {
  StoreLog::flush(space_);
  if (concurrent_ == nullptr) return marker_->drain(deadline_ns);
  // Read first: the thread's later work is its own.
  const bool was_idle = concurrent_->take_left(left_);
  do {
    for (std::size_t i = 0; i < kObjectsBetweenLooks && !left_.empty(); ++i) marker_->trace(left_.pop());
  } while (!left_.empty() && !is_late(deadline_ns));
  if (help == Help::Full) marker_->drain(deadline_ns);
  const bool is_any_waiting = marker_->waiting_count() != 0;
  if (is_any_waiting) {
    if (!concurrent_->give(marker_->waiting(), marker_->waiting_count())) {
      take_back_marking();
      return false;
    }
    marker_->forget_waiting();
  }
  return was_idle && !is_any_waiting && left_.empty();
}

// From here on this thread marks alone.
void HeapImpl::take_back_marking() noexcept {
  if (concurrent_ == nullptr) return;
  concurrent_->stop();
  marker_->take_over(concurrent_->marker());
  marker_->add(left_.begin(), left_.size());
  left_.set_size(0);
  marking_ns_ += concurrent_->worked_ns();
  delete std::exchange(concurrent_, nullptr);
}

// Marks roots that no store reports. False if it led to more than a step can mark.
bool HeapImpl::mark_last_roots(std::size_t deadline_ns, StackState stack) noexcept {
  {
    const Lock lock(locks().cross_roots);
    marker_->mark_cross_roots();
  }
  if (stack == StackState::MayHoldPointers) marker_->mark_stack();
  return marker_->drain(++stack_scans_ < kMostScans ? deadline_ns : kNoDeadline);
}

void HeapImpl::start_marking() noexcept {
  tell_types();
  StoreLog::flush(space_);  // of another heap: references stored to this one until now may be gone
  const bool is_shared = options_.marking == Marking::Concurrent;
  marker_ = new (std::nothrow) Marker(*this, mark_stack_, is_shared ? Marker::Sharing::Owner : Marker::Sharing::None);
  if (marker_ == nullptr) return;
  if (!StoreLog::begin(space_)) {
    delete std::exchange(marker_, nullptr);
    return;
  }
  if (is_shared) concurrent_ = new (std::nothrow) ConcurrentMarking(*this);
  gives_stores_ = true;
  make_all_young();
  inline_state.count_marking_heap(space_.slot(), 1);
  marking_began_bytes_ = allocated_bytes_;
  marking_ns_ = 0;
  stack_scans_ = 0;
  for_each_stretch([&](const Stretch& stretch, std::size_t cell_bytes) { mark_cells(stretch, cell_bytes); });
  marker_->mark_roots();
}

// From here on stores report nothing.
void HeapImpl::stop_marking() noexcept {
  inline_state.count_marking_heap(space_.slot(), -1);
  StoreLog::end(space_);
}

void HeapImpl::abort_marking() noexcept {
  if (!is_marking()) return;
  take_back_marking();
  stop_marking();
  delete std::exchange(marker_, nullptr);
  for_each_page(
      [&](Page& page) { std::fill_n(space_.marks() + space_.unit_of(page) * Space::kWordsOfUnit, words_of(page), 0); });
}

// Cells of which objects will be made.
void HeapImpl::mark_cells(const Stretch& stretch, std::size_t cell_bytes) noexcept {
  std::size_t word = space_.bit_of(stretch.next) / 64;
  std::uint64_t mask = 0;
  const auto set = [&] {
    std::uint64_t& marks = space_.marks()[word];
    if (concurrent_ == nullptr) {
      marks |= mask;
    } else {
      std::atomic_ref<std::uint64_t>(marks).fetch_or(mask, std::memory_order_relaxed);
    }
  };
  for (std::uintptr_t object = stretch.next; object < stretch.end; object += cell_bytes) {
    const std::size_t bit = space_.bit_of(object);
    if (bit / 64 != word) {
      set();
      word = bit / 64;
      mask = 0;
    }
    mask |= std::uint64_t{1} << (bit % 64);
  }
  set();
}

// Cells of which none were made.
void HeapImpl::unmark_cells(const Stretch& stretch, std::size_t cell_bytes) noexcept {
  for (std::uintptr_t object = stretch.next; object < stretch.end; object += cell_bytes) space_.unmark(object);
}

// By the other thread, while that has something to do anyway.
void HeapImpl::mark_stored(const std::uint32_t* granules, std::size_t count) noexcept {
  if (gives_stores_ && concurrent_ != nullptr && concurrent_->give_stored(granules, count)) return;
  marker_->mark_around(granules, count);
}

void HeapImpl::mark_linked(std::uintptr_t address) noexcept {
  const std::uint32_t granule = space_.granule_of(address);
  marker_->mark_around(&granule, 1);
}

void HeapImpl::trace_again(std::uintptr_t object) noexcept { marker_->trace_again(object); }

// Pages that the last collection emptied, a few at a time: the system takes some 5 us for each.
void HeapImpl::release_surplus() noexcept {
  for (int i = 0; i < 4 && pooled_bytes_ > limit_bytes_; ++i) release_pooled();
}

}  // namespace tare::inline TARE_ABI::gc
