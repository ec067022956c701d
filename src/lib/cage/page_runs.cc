#include "lib/cage/page_runs.h"

#include <algorithm>

namespace tare::inline TARE_ABI {

namespace {

// The least page from `page` on that is `remainder` modulo `alignment`; 64 bits, as it may lie above all pages.
std::uint64_t align_up(std::uint64_t page, std::uint32_t alignment, std::uint32_t remainder) noexcept {
  return page + ((remainder - static_cast<std::uint32_t>(page)) & (alignment - 1));
}

}  // namespace

std::uint32_t PageRuns::next_list(std::uint32_t from) const noexcept {
  for (std::uint32_t word = from / 64; word < filled_.size(); ++word) {
    std::uint64_t bits = filled_[word];
    if (word == from / 64) bits &= ~std::uint64_t{0} << (from % 64);
    if (bits != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  return kListCount;
}

// The last page of a used run has no entry: only the first page may be freed.
void PageRuns::write(std::uint32_t first, std::uint32_t pages, State state) noexcept {
  entries_[first + pages - 1].pages = pages;
  entries_[first + pages - 1].state = state == State::Used ? State::None : state;
  entries_[first].pages = pages;
  entries_[first].state = state;
}

void PageRuns::link(std::uint32_t first, std::uint32_t pages, State state) noexcept {
  write(first, pages, state);
  if (state == State::FreeStale) stale_ += pages;
  const std::uint32_t list = list_of(pages);
  Entry& entry = entries_[first];
  entry.previous = 0;
  entry.next = heads_[list];
  if (entry.next != 0) entries_[entry.next].previous = first;
  heads_[list] = first;
  filled_[list / 64] |= std::uint64_t{1} << (list % 64);
}

void PageRuns::unlink(std::uint32_t first) noexcept {
  const Entry& entry = entries_[first];
  const std::uint32_t list = list_of(entry.pages);
  if (entry.state == State::FreeStale) stale_ -= entry.pages;
  if (entry.next != 0) entries_[entry.next].previous = entry.previous;
  if (entry.previous != 0) {
    entries_[entry.previous].next = entry.next;
  } else {
    heads_[list] = entry.next;
    if (entry.next == 0) filled_[list / 64] &= ~(std::uint64_t{1} << (list % 64));
  }
  forget(first);
}

// Only the ends of present runs may look like one, or a second free() of a page inside a run would be accepted.
void PageRuns::forget(std::uint32_t first) noexcept {
  entries_[first + entries_[first].pages - 1].state = State::None;
  entries_[first].state = State::None;
}

// Takes [at, at + pages) out of the free run that begins at `first`; the parts before and behind stay free.
PageRuns::Run PageRuns::carve(std::uint32_t first, std::uint32_t at, std::uint32_t pages) noexcept {
  const std::uint32_t total = entries_[first].pages;
  const State state = entries_[first].state;
  unlink(first);
  const std::uint32_t before = at - first;
  const std::uint32_t behind = total - before - pages;
  if (before != 0) link(first, before, state);
  if (behind != 0) link(at + pages, behind, state);
  write(at, pages, State::Used);
  used_ += pages;
  return {at, pages, state == State::FreeStale};
}

// Takes pages that were never used, with those of a free run that ends there: it's always a stale one.
PageRuns::Run PageRuns::take_from_frontier(std::uint32_t pages, std::uint32_t alignment,
                                           std::uint32_t remainder) noexcept {
  const std::uint32_t tail = free_pages_before(frontier_);
  const std::uint32_t start = frontier_ - tail;
  const std::uint64_t at = align_up(start, alignment, remainder);
  if (at + pages > end_) return {};
  const auto first = static_cast<std::uint32_t>(at);
  const std::uint32_t old_frontier = frontier_;
  frontier_ = std::max(first + pages, old_frontier);
  if (first < old_frontier) {
    unlink(start);
    if (first != start) link(start, first - start, State::FreeStale);
    if (first + pages < old_frontier) link(first + pages, old_frontier - first - pages, State::FreeStale);
  }
  write(first, pages, State::Used);
  used_ += pages;
  if (first > old_frontier) {
    write(old_frontier, first - old_frontier, State::Used);
    used_ += first - old_frontier;
    give(old_frontier, State::FreeClean);
  }
  return {first, pages, first < old_frontier};
}

// Tries `probes` runs of each list: only in the first list may runs be too short, unless they must be aligned.
PageRuns::Run PageRuns::take_freed(std::uint32_t pages, std::uint32_t alignment, std::uint32_t remainder,
                                   std::uint32_t probes) noexcept {
  for (std::uint32_t list = next_list(list_of(pages)); list < kListCount; list = next_list(list + 1)) {
    std::uint32_t left = probes;
    for (std::uint32_t first = heads_[list]; first != 0 && left-- > 0; first = entries_[first].next) {
      const std::uint64_t at = align_up(first, alignment, remainder);
      if (at + pages <= std::uint64_t{first} + entries_[first].pages) {
        return carve(first, static_cast<std::uint32_t>(at), pages);
      }
    }
  }
  return {};
}

PageRuns::Run PageRuns::take(std::uint32_t pages, std::uint32_t alignment, std::uint32_t remainder) noexcept {
  if (pages == 0 || pages > kMostPages) return {};
  constexpr std::uint32_t kProbes = 16;
  Run run = take_freed(pages, alignment, remainder, kProbes);
  if (run.pages == 0) run = take_from_frontier(pages, alignment, remainder);
  if (run.pages == 0) run = take_freed(pages, alignment, remainder, kMostPages);  // before giving up, everything
  return run;
}

void PageRuns::give(std::uint32_t first, State state) noexcept {
  std::uint32_t pages = entries_[first].pages;
  used_ -= pages;
  forget(first);
  const auto absorb = [&](std::uint32_t neighbour) {
    const Entry& entry = entries_[neighbour];
    if (entry.state == State::FreeStale) state = State::FreeStale;
    unlink(neighbour);
    pages += entry.pages;
  };
  if (first + pages < frontier_ && is_free(entries_[first + pages].state)) absorb(first + pages);
  if (const std::uint32_t before = free_pages_before(first); before != 0) {
    first -= before;
    absorb(first);
  }
  if (first + pages == frontier_ && state == State::FreeClean) {
    frontier_ = first;
  } else {
    link(first, pages, state);
  }
}

std::uint32_t PageRuns::largest_free_pages() const noexcept {
  std::uint32_t largest = end_ - frontier_ + free_pages_before(frontier_);
  for (std::uint32_t list = next_list(0); list < kListCount; list = next_list(list + 1)) {
    for (std::uint32_t first = heads_[list]; first != 0; first = entries_[first].next) {
      largest = std::max(largest, entries_[first].pages);
    }
  }
  return largest;
}

}  // namespace tare::inline TARE_ABI
