#include "lib/atoms/range.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "lib/atoms/block.h"
#include "lib/cage/cage_locks.h"
#include "lib/cage/system_pages.h"
#include "lib/fork/mutex.h"

namespace tare::inline TARE_ABI {

TARE_STATE std::byte* atom_details::range_base = nullptr;

namespace atom_range {

namespace {

constexpr std::size_t kWanted = std::size_t{32} << 30;  // the range of 4 bytes in units of 8
constexpr std::size_t kLeast = std::size_t{1} << 20;
constexpr std::size_t kKept = std::size_t{128} << 10;
constexpr std::size_t kGrain =
    4096;  // pages are this or a multiple; a constant, since every last release divides by it
constexpr std::size_t kGuard =
    atom_details::kFirstDynamicHandle * AtomBlock::kUnit;  // 512 KiB: handles of static atoms
static_assert(kGuard < kLeast);

}  // namespace

// Never destroyed: atoms may outlive everything else. In a union so that no destructor is registered for it.
union Storage {
  Cage cage;
  constexpr Storage() : cage() {}
  ~Storage() {}
};

struct StateOfRange {
  Mutex mutex;
  bool tried TARE_GUARDED_BY(mutex) = false;
  std::atomic<std::uint8_t>* owners = nullptr;  // of 4 KiB each; zero pages of the system until written
  std::size_t page_bytes = 0;
  Storage storage;
};

TARE_STATE constinit StateOfRange the_range;

namespace {

StateOfRange& range() { return the_range; }

Cage& cage() { return the_range.storage.cage; }

void set_owner(const PageRun& run, std::uint8_t id) {
  const StateOfRange& r = range();
  const std::size_t first = static_cast<std::size_t>(run.data - atom_details::range_base) / kGrain;
  for (std::size_t i = 0; i < run.size_bytes / kGrain; ++i) {
    r.owners[first + i].store(id, std::memory_order_relaxed);
  }
}

}  // namespace

AtomError ensure() {
  StateOfRange& r = range();
  cage_locks::guard();
  const Lock lock(r.mutex);
  if (atom_details::range_base != nullptr) return AtomError::None;
  if (r.tried) return AtomError::NoRange;
  r.tried = true;
  // Small pages: with huge ones a table of 2,000 atoms would have 2 MiB resident, and freed slabs would stay.
  CageResult<Cage> made = Cage::reserve(
      {.size_bytes = kWanted, .least_bytes = kLeast, .guard_bytes = kGuard, .huge_pages = HugePages::Avoid});
  if (!made) return AtomError::NoRange;
  std::byte* owners = system_pages::map_books(made.value().size_bytes() / kGrain);
  if (owners == nullptr) return AtomError::NoRange;
  r.owners = reinterpret_cast<std::atomic<std::uint8_t>*>(owners);
  r.page_bytes = made.value().page_bytes();
  cage() = std::move(made.value());
  atom_details::range_base = cage().base();
  return AtomError::None;
}

CageResult<PageRun> allocate(std::size_t size_bytes, std::uint8_t table_id) {
  CageResult<PageRun> run = cage().allocate(size_bytes);
  if (run) set_owner(run.value(), table_id);
  return run;
}

void free(const PageRun& run, FreedPages pages) {
  set_owner(run, 0);
  const bool may_stay = cage().use().kept_bytes + run.size_bytes <= kKept;
  cage().free(run, may_stay ? FreedPages::Keep : pages);
}

void trim() { cage().trim(kKept); }

void abandon(const PageRun& run) { set_owner(run, 0); }

std::size_t page_bytes() { return range().page_bytes; }

std::uint8_t owner_of(const void* address) {
  const StateOfRange& r = range();
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - atom_details::range_base);
  return r.owners[offset / kGrain].load(std::memory_order_relaxed);
}

AtomRangeUse use() {
  StateOfRange& r = range();
  const Lock lock(r.mutex);
  AtomRangeUse use{.wanted_bytes = kWanted};
  if (atom_details::range_base == nullptr) {
    if (r.tried) use.error = AtomError::NoRange;
    return use;
  }
  const CageUse cage_use = cage().use();
  use.reserved_bytes = cage_use.reserved_bytes;
  use.mapped_bytes = cage_use.used_bytes;
  use.kept_bytes = std::min(cage_use.kept_bytes, kKept);
  if (use.reserved_bytes < kWanted) use.error = AtomError::SmallerRange;
  return use;
}

void lock_for_fork() TARE_UNCHECKED_LOCKS { range().mutex.lock(); }

void unlock_after_fork() TARE_UNCHECKED_LOCKS { range().mutex.unlock(); }

}  // namespace atom_range

}  // namespace tare::inline TARE_ABI
