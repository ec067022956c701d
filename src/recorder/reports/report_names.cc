// An open-addressed table of places in the string pool. A forked child has its parent's strings at the same places, and
// so keeps the table.
#include "recorder/reports/report_names.h"

#include <atomic>
#include <cstring>

#include "recorder/recorder.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/unwind.h"
#include "trace/spool/program_note.h"

namespace tare::recorder {
namespace {

constexpr std::uint32_t kSlots = 2 * trace::kMaxNames;  // 1 MiB of address space, touched as names come
constexpr std::uint32_t kMostProbes = 256;              // a longer search means a full table

// Bits 0..23 of a slot are the hash's, the rest is the place: as NamedWord has it, from bit 24. Zero: empty; a name has
// at least the terminating byte's length, see find_name().
constexpr int kPlaceShift = 24;

std::atomic<std::atomic<std::uint64_t>*> slots{nullptr};

std::atomic<std::uint64_t>* table() {
  auto* found = slots.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  auto* made = static_cast<std::atomic<std::uint64_t>*>(reserve_zeroed(kSlots * sizeof(std::uint64_t)));
  if (made == nullptr) return nullptr;
  // Of two threads one loses its 1 MiB of untouched addresses.
  return slots.compare_exchange_strong(found, made, std::memory_order_acq_rel) ? made : found;
}

std::uint64_t hash_of(const char* name, std::uint32_t length) {
  std::uint64_t hash = length * 0x9e3779b97f4a7c15;
  while (length >= 8) {
    std::uint64_t word;
    std::memcpy(&word, name, 8);
    hash = (hash ^ word) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 29;
    name += 8;
    length -= 8;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, name, length);
  hash = (hash ^ word) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 31) * 0x94d049bb133111eb;
  return hash ^ hash >> 29;
}

constexpr std::uint64_t slot_word(std::uint64_t hash, trace::StringRef place) {
  return (hash & 0xffffff) | std::uint64_t{place.offset} << kPlaceShift | std::uint64_t{place.length} << 48;
}
constexpr trace::StringRef place_in(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> kPlaceShift & 0xffffff), static_cast<std::uint32_t>(word >> 48)};
}

}  // namespace

bool find_name(const char* name, trace::StringRef& place) {
  const auto length = static_cast<std::uint32_t>(strnlen(name, trace::kMaxNameBytes));
  auto* const all = table();
  if (all == nullptr) return false;
  const char* const strings = recorder.spool().tables().strings;
  const std::uint64_t hash = hash_of(name, length);
  for (std::uint32_t i = 0; i < kMostProbes; ++i) {
    std::atomic<std::uint64_t>& slot = all[((hash >> 24) + i) & (kSlots - 1)];
    std::uint64_t word = slot.load(std::memory_order_acquire);
    if (word == 0) {
      // Two threads may publish one name in two places; readers of the trace make one of it.
      if (!publish_string(name, length, place)) return false;
      const std::uint64_t made = slot_word(hash, place);
      if (slot.compare_exchange_strong(word, made, std::memory_order_acq_rel)) return true;
    }
    const trace::StringRef there = place_in(word);
    if ((word & 0xffffff) == (hash & 0xffffff) && there.length == length &&
        std::memcmp(strings + there.offset, name, length) == 0) {
      place = there;
      return true;
    }
  }
  return false;
}

}  // namespace tare::recorder
