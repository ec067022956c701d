#include "lib/gc/pages/space.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <utility>

#include "lib/cage/system_pages.h"
#include "lib/gc/threads/inline_state.h"
#include "lib/gc/threads/locks.h"

namespace tare::inline TARE_ABI::gc {

struct Slot {
  std::atomic<Space*> space{nullptr};
  std::uintptr_t base = 0;
  WriteBarrier barrier = WriteBarrier::None;
  alignas(Space) std::byte memory[sizeof(Space)];
};
TARE_STATE constinit std::array<Slot, kCageSlots> slots{};

namespace {

// Below 4 GiB, at any free place: from the top downwards, because the program's own mappings there begin at the bottom.
CageResult<Cage> reserve_low(CageOptions options) noexcept {
  constexpr std::uintptr_t kEnd = std::uintptr_t{1} << 32;
  constexpr std::uintptr_t kStep = std::uintptr_t{64} << 20;
  for (std::size_t size = options.size_bytes; size >= kStep; size /= 2) {
    options.size_bytes = options.least_bytes = size;
    for (std::uintptr_t base = kEnd - size; base >= kStep; base -= kStep) {
      options.fixed_base = base;
      CageResult<Cage> made = Cage::reserve(options);
      if (made || made.error() != CageError::AddressTaken) return made;
    }
  }
  return CageError::NoAddressSpace;
}

template <class Entry>
Entry* map_table(std::size_t count) noexcept {
  std::byte* table = system_pages::map_books(count * sizeof(Entry));
  // One touch of a table of bits would make 2 MiB resident, which are for 256 MiB of cells.
  if (table != nullptr) system_pages::avoid_huge(table, count * sizeof(Entry));
  return reinterpret_cast<Entry*>(table);
}

}  // namespace

Space::Space(std::size_t slot, Cage&& cage, const DecodingShape& shape, Page* pages, std::uint64_t* marks,
             std::uint64_t* used, std::uint64_t* old_places) noexcept
    : slot_(slot),
      cage_(std::move(cage)),
      shape_(shape),
      cage_begin_(reinterpret_cast<std::uintptr_t>(cage_.base())),
      cage_bytes_(cage_.size_bytes()),
      pages_(pages),
      marks_(marks),
      used_(used),
      old_places_(old_places) {
  if (old_places == nullptr) return;
  const std::uint32_t first = unit_of(cage_begin_);
  inline_state.set_old_places(slot, {address_of(first), cage_begin_ + cage_bytes_ - address_of(first),
                                     old_places + first * kWordsOfUnit, marks});
}

CageResult<Space*> Space::of_group(const GroupTraits& group) noexcept {
  Slot& place = slots[group.slot];
  const Lock lock(locks().spaces);
  if (Space* known = place.space.load(std::memory_order_relaxed); known != nullptr) {
    const DecodingShape shape = group.shape(known->cage_begin_);
    const bool is_same = shape == known->shape_ && group.base(shape) == place.base && group.barrier == place.barrier;
    return is_same ? CageResult<Space*>(known) : CageError::SlotTaken;
  }

  CageOptions options = group.cage;
  // So that unit 0 is none, null and the sentinel point nowhere; and the upper halves of native pointers don't, either:
  // they are below 0x8000, in units of 8 bytes at most.
  options.guard_bytes = 4 * cell::kUnitBytes;
  options.alignment_bytes = std::max(options.alignment_bytes, cell::kUnitBytes);
  CageResult<Cage> cage = group.is_low ? reserve_low(options) : Cage::reserve(options);
  if (!cage) return cage.error();
  const auto begin = reinterpret_cast<std::uintptr_t>(cage.value().base());
  const DecodingShape shape = group.shape(begin);
  const std::size_t units = (begin + cage.value().size_bytes() - shape.origin) / cell::kUnitBytes;
  auto* pages = map_table<Page>(units);
  auto* marks = map_table<std::uint64_t>(units * kWordsOfUnit);
  auto* used = map_table<std::uint64_t>(units * kWordsOfUnit);
  const bool is_any_old = group.barrier == WriteBarrier::Generational;
  auto* old_places = is_any_old ? map_table<std::uint64_t>(units * kWordsOfUnit) : nullptr;
  if (pages == nullptr || marks == nullptr || used == nullptr || (is_any_old && old_places == nullptr)) {
    const auto release = [](void* table, std::size_t bytes) {
      if (table != nullptr) system_pages::release(static_cast<std::byte*>(table), bytes);
    };
    release(pages, units * sizeof(Page));
    release(marks, units * kWordsOfUnit * sizeof(std::uint64_t));
    release(used, units * kWordsOfUnit * sizeof(std::uint64_t));
    release(old_places, units * kWordsOfUnit * sizeof(std::uint64_t));
    return CageError::NoAddressSpace;
  }
  // The mapping is zero, the initial state of entries.
  Space* space = new (place.memory) Space(group.slot, std::move(cage.value()), shape, pages, marks, used, old_places);
  place.base = group.base(shape);
  inline_state.set_base(group.slot, place.base);
  place.barrier = group.barrier;
  place.space.store(space, std::memory_order_release);
  return space;
}

Space* Space::at(std::size_t slot) noexcept { return slots[slot].space.load(std::memory_order_acquire); }

Space* Space::containing(const void* address) noexcept {
  for (Slot& slot : slots) {
    Space* space = slot.space.load(std::memory_order_acquire);
    if (space != nullptr && space->contains(reinterpret_cast<std::uintptr_t>(address))) return space;
  }
  return nullptr;
}

CageResult<std::uint32_t> Space::take(std::size_t bytes, HeapImpl& heap, Page::Kind kind) noexcept {
  CageResult<PageRun> run = cage_.allocate(bytes, cell::kUnitBytes);
  if (!run) return run.error();
  const std::uint32_t first = unit_of(reinterpret_cast<std::uintptr_t>(run.value().data));
  const auto units = static_cast<std::uint32_t>((run.value().size_bytes + cell::kUnitBytes - 1) / cell::kUnitBytes);
  for (std::uint32_t unit = first; unit < first + units; ++unit) {
    Page& page = pages_[unit];
    page.kind = unit == first ? kind : Page::Kind::Tail;
    page.first_unit = first;
    page.heap.store(&heap, std::memory_order_relaxed);
  }
  pages_[first].units = units;
  pages_[first].run_bytes = run.value().size_bytes;
  return first;
}

void Space::give_back(std::uint32_t first_unit) noexcept {
  Page& first = pages_[first_unit];
  const std::uint32_t units = first.units;
  const PageRun run{reinterpret_cast<std::byte*>(address_of(first_unit)), first.run_bytes};
  for (std::uint32_t unit = first_unit; unit < first_unit + units; ++unit) {
    pages_[unit].heap.store(nullptr, std::memory_order_relaxed);
    pages_[unit].kind = Page::Kind::None;
  }
  std::fill_n(marks_ + first_unit * kWordsOfUnit, units * kWordsOfUnit, 0);
  std::fill_n(used_ + first_unit * kWordsOfUnit, units * kWordsOfUnit, 0);
  if (old_places_ != nullptr) std::fill_n(old_places_ + first_unit * kWordsOfUnit, units * kWordsOfUnit, 0);
  cage_.free(run);
}

}  // namespace tare::inline TARE_ABI::gc
