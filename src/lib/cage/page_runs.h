// Which pages of a range are free: runs in lists by length, found, split and merged in constant time.
//
// Works with page numbers only and makes no system calls. Every run, free or used, is written down at its first and at
// its last page, so that a run that becomes free finds its neighbours (boundary tags). Unused pages above the frontier
// have no entries, so that a new table stays untouched. Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI {

class PageRuns {
 public:
  enum class State : std::uint8_t { None, Used, FreeClean, FreeStale };

  // The entry of a page. All zero: nothing yet.
  struct Entry {
    std::uint32_t pages = 0;  // of the run that begins or ends here
    std::uint32_t next = 0;   // free runs of like length; 0 ends the list, which is why page 0 is never handed out
    std::uint32_t previous = 0;
    State state = State::None;
    bool inaccessible = false;  // the cage's, for each page: decommitted within a used run
  };
  static_assert(sizeof(Entry) == 16);

  static constexpr std::uint32_t kMostPages = std::uint32_t{1} << 30;

  struct Run {
    std::uint32_t first = 0;
    std::uint32_t pages = 0;  // 0: none found
    bool stale = false;
  };

  // Hands out pages [first, end), first > 0, end <= kMostPages. entries: zeroed, `end` of them, which outlive this.
  PageRuns(Entry* entries, std::uint32_t first, std::uint32_t end) noexcept
      : entries_(entries), first_(first), frontier_(first), end_(end) {}

  // Takes a run whose first page is `remainder` modulo `alignment`, a power of two.
  Run take(std::uint32_t pages, std::uint32_t alignment = 1, std::uint32_t remainder = 0) noexcept;
  void give(std::uint32_t first, State state) noexcept;  // FreeClean or FreeStale

  // Pages of the used run that begins here; 0 if none does.
  std::uint32_t used_pages_at(std::uint32_t page) const noexcept {
    if (page < first_ || page >= frontier_) return 0;
    return entries_[page].state == State::Used ? entries_[page].pages : 0;
  }

  // Calls clean(first, pages) for stale free runs, which then are clean. The lowest `kept` pages stay; the run in which
  // they end stays stale, its cleaned part included, because neighbouring free pages are one run.
  template <class Clean>
  void clean_stale(std::uint32_t kept, Clean&& clean) noexcept;

  std::uint32_t frontier() const noexcept { return frontier_; }  // above lies what is clean and never handed out
  std::uint32_t used_pages() const noexcept { return used_; }
  std::uint32_t stale_pages() const noexcept { return stale_; }
  std::uint32_t largest_free_pages() const noexcept;

 private:
  // Lengths below 16 have a list each, longer ones 8 lists a doubling: a run that fits is at most an eighth too long,
  // and the rest is split off.
  static constexpr std::uint32_t kExact = 16;
  static constexpr std::uint32_t kListCount = kExact + (30 - 4 + 1) * 8;

  static constexpr std::uint32_t list_of(std::uint32_t pages) {
    if (pages < kExact) return pages;
    const auto log = static_cast<std::uint32_t>(std::bit_width(pages)) - 1;
    return kExact + (log - 4) * 8 + ((pages >> (log - 3)) & 7);
  }

  static constexpr bool is_free(State state) { return state == State::FreeClean || state == State::FreeStale; }

  // Of the free run that ends before `page`; 0 if there is none.
  std::uint32_t free_pages_before(std::uint32_t page) const noexcept {
    return page > first_ && is_free(entries_[page - 1].state) ? entries_[page - 1].pages : 0;
  }

  std::uint32_t next_list(std::uint32_t from) const noexcept;  // the first that isn't empty; kListCount: none
  void write(std::uint32_t first, std::uint32_t pages, State state) noexcept;
  void link(std::uint32_t first, std::uint32_t pages, State state) noexcept;
  void unlink(std::uint32_t first) noexcept;
  void forget(std::uint32_t first) noexcept;
  Run carve(std::uint32_t first, std::uint32_t at, std::uint32_t pages) noexcept;
  Run take_freed(std::uint32_t pages, std::uint32_t alignment, std::uint32_t remainder, std::uint32_t probes) noexcept;
  Run take_from_frontier(std::uint32_t pages, std::uint32_t alignment, std::uint32_t remainder) noexcept;

  Entry* entries_;
  std::uint32_t first_;
  std::uint32_t frontier_;
  std::uint32_t end_;
  std::uint32_t used_ = 0;
  std::uint32_t stale_ = 0;
  std::array<std::uint32_t, kListCount> heads_{};
  std::array<std::uint64_t, (kListCount + 63) / 64> filled_{};
};

template <class Clean>
void PageRuns::clean_stale(std::uint32_t kept, Clean&& clean) noexcept {
  // Merging moves runs between lists, so the walk is by address, over the runs' ends.
  std::uint32_t page = first_;
  while (stale_ != 0 && page < frontier_) {
    const Entry& entry = entries_[page];
    const std::uint32_t pages = entry.pages;
    if (entry.state == State::FreeStale) {
      const std::uint32_t kept_here = kept < pages ? kept : pages;
      kept -= kept_here;
      if (kept_here < pages) clean(page + kept_here, pages - kept_here);
      if (kept_here == 0) {
        unlink(page);
        link(page, pages, State::FreeClean);
      }
    }
    page += pages;
  }
  // A clean run at the frontier becomes unused space.
  const Entry& last = entries_[frontier_ - 1];
  if (frontier_ > first_ && last.state == State::FreeClean) {
    const std::uint32_t pages = last.pages;
    unlink(frontier_ - pages);
    frontier_ -= pages;
  }
}

}  // namespace tare::inline TARE_ABI
