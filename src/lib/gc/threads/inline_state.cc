#include "lib/gc/threads/inline_state.h"

namespace tare::inline TARE_ABI::gc {

constinit InlineState inline_state;

constinit std::atomic<std::uint32_t> marking_heaps[kCageSlots]{};
constinit barrier_details::OldPlaces barrier_details::old_places[kCageSlots]{};

namespace {

constinit InlineState::Copy own{nullptr, marking_heaps, barrier_details::old_places};

}  // namespace

void InlineState::join(Copy& copy) noexcept {
  const Lock lock(mutex_);
  for (std::size_t slot = 0; slot < kCageSlots; ++slot) {
    copy.bases[slot] = bases_[slot];
    copy.marking_heaps[slot].store(marking_heaps_[slot], std::memory_order_relaxed);
    copy.old_places[slot] = old_places_[slot];
  }
  copy.next = first_;
  first_ = &copy;
}

void InlineState::leave(Copy& copy) noexcept {
  const Lock lock(mutex_);
  for (Copy** place = &first_; *place != nullptr; place = &(*place)->next) {
    if (*place == &copy) {
      *place = copy.next;
      return;
    }
  }
}

void InlineState::set_base(std::size_t slot, std::uintptr_t base) noexcept {
  const Lock lock(mutex_);
  bases_[slot] = base;
  for (Copy* copy = first_; copy != nullptr; copy = copy->next) copy->bases[slot] = base;
}

void InlineState::set_old_places(std::size_t slot, const barrier_details::OldPlaces& places) noexcept {
  const Lock lock(mutex_);
  old_places_[slot] = places;
  for (Copy* copy = first_; copy != nullptr; copy = copy->next) copy->old_places[slot] = places;
}

void InlineState::count_marking_heap(std::size_t slot, std::int32_t change) noexcept {
  const Lock lock(mutex_);
  marking_heaps_[slot] += static_cast<std::uint32_t>(change);
  for (Copy* copy = first_; copy != nullptr; copy = copy->next) {
    copy->marking_heaps[slot].store(marking_heaps_[slot], std::memory_order_relaxed);
  }
}

void join_inline_state(std::uintptr_t* bases) noexcept {
  own.bases = bases;
  inline_state.join(own);
}

void leave_inline_state() noexcept { inline_state.leave(own); }

}  // namespace tare::inline TARE_ABI::gc
