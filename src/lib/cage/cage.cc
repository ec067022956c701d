#include "tare/cage.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "lib/cage/cage_locks.h"
#include "lib/cage/page_runs.h"
#include "lib/cage/system_pages.h"
#include "lib/fork/at_fork.h"
#include "lib/fork/living.h"
#include "lib/fork/mutex.h"
#include "tare/internal/poison.h"

// Defined in programs with the leak sanitizer. Objects that are reachable from a cage aren't leaks; the sanitizer reads
// the accessible part of the range.
extern "C" {
__attribute__((weak)) void __lsan_register_root_region(const void* begin, std::size_t bytes);    // NOLINT
__attribute__((weak)) void __lsan_unregister_root_region(const void* begin, std::size_t bytes);  // NOLINT
}

namespace tare::inline TARE_ABI {

struct CageLock : LivingLinks<CageLock> {
  Mutex mutex;
};
TARE_STATE constinit Living<CageLock> all_cage_locks;

namespace {

// Bytes made accessible beyond the request: an eighth of the present size, within these bounds, so that system calls
// (1-2 us) are rare. Not at once 2 MiB: where huge pages are the system's default, Debian's among them, the first touch
// of a stretch of 2 MiB makes all of it resident, which small cages must not cost.
constexpr std::size_t kLeastAhead = std::size_t{64} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMostAhead = kHugePage;

[[noreturn]] void stop(const char* what, const void* where) noexcept {
  std::fprintf(stderr, "tare::Cage: %s: %p\n", what, where);
  std::abort();
}

constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) & ~(unit - 1); }

void lock(CageLock& one) TARE_UNCHECKED_LOCKS { one.mutex.lock(); }
void unlock(CageLock& one) TARE_UNCHECKED_LOCKS { one.mutex.unlock(); }

constexpr at_fork::Steps kCageForkSteps{.before = [] { all_cage_locks.lock_for_fork(lock); },
                                        .in_parent = [] { all_cage_locks.unlock_after_fork(unlock); },
                                        .in_child = [] { all_cage_locks.unlock_after_fork(unlock); }};

// The options with the defaults filled in, or sizes of 0 if they contradict each other.
CageOptions settled(CageOptions o) noexcept {
  const std::size_t system_page = system_pages::page_bytes();
  if (o.page_bytes == 0) o.page_bytes = system_page;
  if (o.alignment_bytes == 0) o.alignment_bytes = o.page_bytes;
  if (o.guard_bytes == 0) o.guard_bytes = o.page_bytes;
  const std::size_t largest = o.page_bytes * std::size_t{PageRuns::kMostPages};
  const bool good = std::has_single_bit(o.page_bytes) && o.page_bytes >= system_page &&
                    o.page_bytes <= std::size_t{1} << 30 && std::has_single_bit(o.alignment_bytes) &&
                    o.alignment_bytes >= o.page_bytes && o.alignment_phase_bytes < o.alignment_bytes &&
                    o.alignment_phase_bytes % o.page_bytes == 0 && o.guard_bytes % o.page_bytes == 0 &&
                    o.fixed_base % o.page_bytes == 0 && o.size_bytes % o.page_bytes == 0 &&
                    o.least_bytes % o.page_bytes == 0 && o.size_bytes <= largest && o.guard_bytes < o.size_bytes;
  if (!good) return CageOptions{.size_bytes = 0};
  o.least_bytes = std::clamp(o.least_bytes, o.guard_bytes + o.page_bytes, o.size_bytes);
  return o;
}

// An address range without a byte too much: where the system would put it, rounded down, is nearly always free. Only if
// it isn't, more than needed is reserved and trimmed.
std::byte* reserve_aligned(std::size_t size_bytes, std::size_t alignment, std::size_t phase) noexcept {
  std::byte* begin = system_pages::reserve(size_bytes);
  if (begin == nullptr) return nullptr;
  const auto phase_of = [&](std::uintptr_t address) { return (address - phase) & (alignment - 1); };
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  if (phase_of(address) == 0) return begin;
  system_pages::release(begin, size_bytes);
  std::uintptr_t candidate = address - phase_of(address);
  for (int tries = 0; tries < 8 && candidate > alignment && candidate < address + size_bytes; ++tries) {
    if (system_pages::reserve_at(candidate, size_bytes)) return reinterpret_cast<std::byte*>(candidate);
    candidate -= alignment;
  }
  begin = system_pages::reserve(size_bytes + alignment);
  if (begin == nullptr) return nullptr;
  const std::size_t before = (alignment - phase_of(reinterpret_cast<std::uintptr_t>(begin))) & (alignment - 1);
  system_pages::release(begin, before);
  system_pages::release(begin + before + size_bytes, alignment - before);
  return begin + before;
}

std::byte* reserve_once(const CageOptions& o, std::size_t size_bytes) noexcept {
  if (o.fixed_base == 0) return reserve_aligned(size_bytes, o.alignment_bytes, o.alignment_phase_bytes);
  const bool got = system_pages::reserve_at(o.fixed_base, size_bytes);
  return got ? reinterpret_cast<std::byte*>(o.fixed_base) : nullptr;
}

}  // namespace

const char* describe(CageError error) noexcept {
  switch (error) {
    case CageError::None:
      return "no error";
    case CageError::BadOptions:
      return "the cage's sizes, alignments or guard contradict each other";
    case CageError::NoAddressSpace:
      return "the process can't have that many addresses (see ulimit -v)";
    case CageError::AddressTaken:
      return "the cage's fixed address can't be had: something else is mapped there";
    case CageError::Exhausted:
      return "the cage has no free run of that length";
    case CageError::NoMemory:
      return "the system refuses to make the cage's pages accessible";
    case CageError::OutOfReach:
      return "compressed pointers of this kind can't point into the cage";
    case CageError::SlotTaken:
      return "heaps of another decoding or write barrier have the group's slot";
  }
  return "unknown error";
}

// Lies at the start of the books' mapping, before the entries of the pages.
struct Cage::Books : CageLock {
  Books(const CageOptions& o, std::byte* at, std::size_t size, std::size_t wanted, std::size_t books,
        PageRuns::Entry* e)
      : base(at),
        size_bytes(size),
        wanted_bytes(wanted),
        books_bytes(books),
        guard_bytes(o.guard_bytes),
        page_bytes(o.page_bytes),
        huge_pages(o.huge_pages),
        committed_end(o.guard_bytes),
        entries(e),
        runs(e, static_cast<std::uint32_t>(o.guard_bytes / o.page_bytes),
             static_cast<std::uint32_t>(size / o.page_bytes)) {}

  std::byte* const base;
  const std::size_t size_bytes;
  const std::size_t wanted_bytes;
  const std::size_t books_bytes;
  const std::size_t guard_bytes;
  const std::size_t page_bytes;
  const HugePages huge_pages;

  std::size_t committed_end TARE_GUARDED_BY(mutex);
  std::size_t inaccessible_pages TARE_GUARDED_BY(mutex) = 0;  // below committed_end, by decommit()
  PageRuns::Entry* const entries;                             // these too
  PageRuns runs TARE_GUARDED_BY(mutex);

  std::byte* address(std::uint32_t page) const noexcept { return base + std::size_t{page} * page_bytes; }
  std::uint32_t page_of(const std::byte* at) const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(at - base) / page_bytes);
  }

  // Makes everything below the frontier accessible; false if the kernel refuses.
  bool commit_to_frontier() noexcept TARE_REQUIRES(mutex) {
    const std::size_t frontier = std::size_t{runs.frontier()} * page_bytes;
    if (frontier <= committed_end) return true;
    const auto add = [&](std::size_t end) TARE_REQUIRES(mutex) {
      if (!system_pages::make_accessible(base + committed_end, end - committed_end)) return false;
      committed_end = end;
      return true;
    };
    const std::size_t ahead = std::clamp((frontier - guard_bytes) / 8, kLeastAhead, kMostAhead);
    const std::size_t unit = huge_pages == HugePages::Prefer ? std::max(kHugePage, page_bytes) : page_bytes;
    const std::size_t stepped = std::min(round_up(frontier + ahead, unit), size_bytes);
    return add(stepped) || add(frontier);
  }

  // [begin, end) as pages; ends the program if they aren't pages that a run may have.
  std::pair<std::uint32_t, std::uint32_t> pages(const std::byte* begin, std::size_t bytes) const noexcept
      TARE_REQUIRES(mutex) {
    const auto offset = static_cast<std::size_t>(begin - base);
    const std::size_t end = std::size_t{runs.frontier()} * page_bytes;
    if (offset % page_bytes != 0 || bytes % page_bytes != 0 || offset < guard_bytes || offset > end ||
        bytes > end - offset) {
      stop("not pages of a run that is in use", begin);
    }
    const std::uint32_t first = page_of(begin);
    return {first, first + static_cast<std::uint32_t>(bytes / page_bytes)};
  }

  void mark_inaccessible(std::uint32_t first, std::uint32_t end, bool value) noexcept TARE_REQUIRES(mutex) {
    for (std::uint32_t page = first; page < end; ++page) {
      if (entries[page].inaccessible == value) continue;
      entries[page].inaccessible = value;
      inaccessible_pages += value ? 1 : std::size_t{0} - 1;
    }
  }

  bool any_inaccessible(std::uint32_t first, std::uint32_t end) const noexcept TARE_REQUIRES(mutex) {
    return inaccessible_pages != 0 &&
           std::any_of(entries + first, entries + end, [](const PageRuns::Entry& e) { return e.inaccessible; });
  }
};

void cage_locks::guard() noexcept { at_fork::guard(at_fork::Part::Cages, kCageForkSteps); }

CageResult<Cage> Cage::reserve(const CageOptions& wanted) noexcept {
  const CageOptions options = settled(wanted);
  if (options.size_bytes == 0) return CageError::BadOptions;

  std::size_t size = options.size_bytes;
  while (size / 2 >= options.least_bytes && size > system_pages::address_limit_bytes() / 2) size /= 2;
  std::byte* base = reserve_once(options, size);
  while (base == nullptr && size > options.least_bytes) {
    size = std::max(round_up(size / 2, options.page_bytes), options.least_bytes);
    base = reserve_once(options, size);
  }
  if (base == nullptr) return options.fixed_base != 0 ? CageError::AddressTaken : CageError::NoAddressSpace;

  const std::size_t head = round_up(sizeof(Books), alignof(std::max_align_t));
  const std::size_t books_bytes =
      round_up(head + size / options.page_bytes * sizeof(PageRuns::Entry), system_pages::page_bytes());
  std::byte* books = system_pages::map_books(books_bytes);
  if (books == nullptr) {
    system_pages::release(base, size);
    return CageError::NoAddressSpace;
  }
  if (options.huge_pages == HugePages::Prefer) system_pages::prefer_huge(base, size);
  if (options.huge_pages == HugePages::Avoid) system_pages::avoid_huge(base, size);

  // The mapping is zero, the initial state of entries.
  auto* entries = reinterpret_cast<PageRuns::Entry*>(books + head);
  Cage cage;
  cage.books_ = new (books) Books(options, base, size, options.size_bytes, books_bytes, entries);
  cage_locks::guard();
  all_cage_locks.add(*cage.books_);
  if (__lsan_register_root_region != nullptr) __lsan_register_root_region(base, size);
  return cage;
}

Cage::~Cage() {
  if (books_ == nullptr) return;
  all_cage_locks.remove(*books_);
  if (__lsan_unregister_root_region != nullptr) __lsan_unregister_root_region(books_->base, books_->size_bytes);
  unpoison(books_->base + books_->guard_bytes, books_->committed_end - books_->guard_bytes);
  system_pages::release(books_->base, books_->size_bytes);
  const std::size_t books_bytes = books_->books_bytes;
  books_->~Books();
  system_pages::release(reinterpret_cast<std::byte*>(books_), books_bytes);
}

std::byte* Cage::base() const noexcept { return books_ == nullptr ? nullptr : books_->base; }
std::size_t Cage::size_bytes() const noexcept { return books_ == nullptr ? 0 : books_->size_bytes; }
std::size_t Cage::guard_bytes() const noexcept { return books_ == nullptr ? 0 : books_->guard_bytes; }
std::size_t Cage::page_bytes() const noexcept { return books_ == nullptr ? 0 : books_->page_bytes; }

CageResult<PageRun> Cage::allocate(std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
  if (books_ == nullptr || size_bytes == 0 || size_bytes > books_->size_bytes) return CageError::Exhausted;
  Books& b = *books_;
  if (alignment_bytes != 0 && !std::has_single_bit(alignment_bytes)) return CageError::BadOptions;
  const std::size_t alignment = std::max(alignment_bytes, b.page_bytes);
  const auto pages = static_cast<std::uint32_t>((size_bytes + b.page_bytes - 1) / b.page_bytes);
  // Page p is aligned if base + p * page_bytes is, hence where p is -base / page_bytes modulo alignment / page_bytes.
  const std::size_t unit = alignment / b.page_bytes;
  const std::size_t remainder = (std::size_t{0} - reinterpret_cast<std::uintptr_t>(b.base) / b.page_bytes) & (unit - 1);
  if (unit > PageRuns::kMostPages) return CageError::Exhausted;

  const Lock lock(b.mutex);
  const PageRuns::Run run = b.runs.take(pages, static_cast<std::uint32_t>(unit), static_cast<std::uint32_t>(remainder));
  if (run.pages == 0) return CageError::Exhausted;
  if (!b.commit_to_frontier()) {
    b.runs.give(run.first, PageRuns::State::FreeClean);
    return CageError::NoMemory;
  }
  PageRun found{b.address(run.first), std::size_t{run.pages} * b.page_bytes,
                run.stale ? PageRun::Contents::Stale : PageRun::Contents::Zero};
  unpoison(found.data, found.size_bytes);
  return found;
}

void Cage::free(const PageRun& run, FreedPages pages) noexcept {
  if (run.data == nullptr) return;
  if (!contains(run.data)) stop("free() of what isn't in the cage", run.data);
  Books& b = *books_;
  const Lock lock(b.mutex);
  const std::uint32_t first = b.page_of(run.data);
  const std::uint32_t count = b.runs.used_pages_at(first);
  if (count == 0 || b.address(first) != run.data || std::size_t{count} * b.page_bytes != run.size_bytes) {
    stop("free() of what isn't a run in use", run.data);
  }
  bool return_now = pages == FreedPages::Return;
  if (b.any_inaccessible(first, first + count)) {
    // Freed runs are accessible throughout, so that merging and reusing them needs no list of inaccessible parts.
    if (!system_pages::make_accessible(run.data, run.size_bytes)) stop("can't make pages accessible again", run.data);
    b.mark_inaccessible(first, first + count, false);
    return_now = true;
  }
  if (return_now) system_pages::return_contents(run.data, run.size_bytes);
  poison(run.data, run.size_bytes);
  b.runs.give(first, return_now ? PageRuns::State::FreeClean : PageRuns::State::FreeStale);
}

bool Cage::decommit(std::byte* begin, std::size_t size_bytes) noexcept {
  Books& b = *books_;
  const Lock lock(b.mutex);
  const auto [first, end] = b.pages(begin, size_bytes);
  if (!system_pages::make_inaccessible(begin, size_bytes)) return false;
  b.mark_inaccessible(first, end, true);
  return true;
}

bool Cage::commit(std::byte* begin, std::size_t size_bytes) noexcept {
  Books& b = *books_;
  const Lock lock(b.mutex);
  const auto [first, end] = b.pages(begin, size_bytes);
  if (!b.any_inaccessible(first, end)) return true;
  if (!system_pages::make_accessible(begin, size_bytes)) return false;
  b.mark_inaccessible(first, end, false);
  return true;
}

void Cage::discard(std::byte* begin, std::size_t size_bytes) noexcept {
  Books& b = *books_;
  const Lock lock(b.mutex);
  b.pages(begin, size_bytes);  // checks
  system_pages::return_contents(begin, size_bytes);
}

std::size_t Cage::trim(std::size_t keep_bytes) noexcept {
  if (books_ == nullptr) return 0;
  Books& b = *books_;
  const Lock lock(b.mutex);
  std::size_t returned = 0;
  const auto kept = static_cast<std::uint32_t>(std::min<std::size_t>(keep_bytes / b.page_bytes, PageRuns::kMostPages));
  b.runs.clean_stale(kept, [&](std::uint32_t first, std::uint32_t pages) {
    system_pages::return_contents(b.address(first), std::size_t{pages} * b.page_bytes);
    returned += std::size_t{pages} * b.page_bytes;
  });
  return returned;
}

CageUse Cage::use() const noexcept {
  if (books_ == nullptr) return {};
  Books& b = *books_;
  const Lock lock(b.mutex);
  return {.wanted_bytes = b.wanted_bytes,
          .reserved_bytes = b.size_bytes,
          .committed_bytes = b.committed_end - b.guard_bytes - b.inaccessible_pages * b.page_bytes,
          .used_bytes = std::size_t{b.runs.used_pages()} * b.page_bytes,
          .kept_bytes = std::size_t{b.runs.stale_pages()} * b.page_bytes,
          .largest_free_bytes = std::size_t{b.runs.largest_free_pages()} * b.page_bytes,
          .books_bytes = b.books_bytes};
}

std::size_t Cage::resident_bytes() const noexcept {
  if (books_ == nullptr) return 0;
  Books& b = *books_;
  const Lock lock(b.mutex);
  return system_pages::resident_bytes(b.base, b.committed_end);
}

}  // namespace tare::inline TARE_ABI
