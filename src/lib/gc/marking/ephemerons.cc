// The end of marking: values of ephemerons are marked round by round, until a round finds nothing new.
#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/marking/marker.h"
#include "lib/gc/threads/pauses.h"

namespace tare::inline TARE_ABI::gc {

// Marks values whose keys are alive, and no others.
bool Marker::mark_live_ephemerons() noexcept {
  bool is_any_new = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ephemerons_.size(); ++i) {
    const Ephemeron pair = ephemerons_[i];
    const void* key = target_of(*pair.key);
    if (key == nullptr) continue;
    if (!is_alive(key)) {
      ephemerons_[kept++] = pair;
      continue;
    }
    const std::uintptr_t value = start_of_target(*pair.value);
    if (value != 0 && mark_object(value)) is_any_new = true;
  }
  ephemerons_.set_size(kept);
  return is_any_new;
}

// Going through all pairs again and again is quadratic where each value is the next one's key, or leads to the next
// pair. After a few rounds each traced object is looked up among the keys instead, so that no pair is visited twice.
void Marker::index_ephemerons() noexcept {
  for (const Ephemeron& pair : ephemerons_) {
    const std::uintptr_t key = start_of_target(*pair.key);
    const std::uintptr_t value = start_of_target(*pair.value);
    if (key != 0 && value != 0) values_by_key_.add(space_.granule_of(key), space_.granule_of(value));
  }
  ephemerons_.set_size(0);
}

void Marker::mark_values_of(std::uint32_t key) noexcept {
  values_by_key_.for_each_of(key, [&](std::uint32_t value) { mark_object(space_.object_at(value)); });
}

void Marker::finish_strong() noexcept {
  constexpr int kRoundsBeforeIndex = 3;
  for (int round = 1;; ++round) {
    drain(kNoDeadline);
    scan_in_construction();
    if (!mark_live_ephemerons() && in_construction_.empty() && edges() == 0) break;
    if (round >= kRoundsBeforeIndex) index_ephemerons();
  }
}

}  // namespace tare::inline TARE_ABI::gc
