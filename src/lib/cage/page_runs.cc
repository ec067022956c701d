#include "lib/cage/page_runs.h"

#include <algorithm>

namespace tare {

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

void PageRuns::write(std::uint32_t first, std::uint32_t pages, State state) noexcept {
  for (const std::uint32_t page : {first, first + pages - 1}) {
    entries_[page].pages = pages;
    entries_[page].state = state;
  }
}

void PageRuns::link(std::uint32_t first, std::uint32_t pages, State state) noexcept {
  write(first, pages, state);
  if (state == State::kFreeStale) stale_ += pages;
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
  if (entry.state == State::kFreeStale) stale_ -= entry.pages;
  if (entry.next != 0) entries_[entry.next].previous = entry.previous;
  if (entry.previous != 0) {
    entries_[entry.previous].next = entry.next;
  } else {
    heads_[list] = entry.next;
    if (entry.next == 0) filled_[list / 64] &= ~(std::uint64_t{1} << (list % 64));
  }
  forget(first);
}

// Nothing but the ends of today's runs may look like one, or a second free() of a page within a run would be believed.
void PageRuns::forget(std::uint32_t first) noexcept {
  entries_[first + entries_[first].pages - 1].state = State::kNone;
  entries_[first].state = State::kNone;
}

// Takes [at, at + pages) out of the free run that begins at `first`; what lies before and behind stays free.
PageRuns::Run PageRuns::carve(std::uint32_t first, std::uint32_t at, std::uint32_t pages) noexcept {
  const std::uint32_t total = entries_[first].pages;
  const State state = entries_[first].state;
  unlink(first);
  const std::uint32_t before = at - first;
  const std::uint32_t behind = total - before - pages;
  if (before != 0) link(first, before, state);
  if (behind != 0) link(at + pages, behind, state);
  write(at, pages, State::kUsed);
  used_ += pages;
  return {at, pages, state == State::kFreeStale};
}

PageRuns::Run PageRuns::take_from_frontier(std::uint32_t pages, std::uint32_t alignment,
                                           std::uint32_t remainder) noexcept {
  const std::uint64_t at = align_up(frontier_, alignment, remainder);
  if (at + pages > end_) return {};
  const auto first = static_cast<std::uint32_t>(at);
  if (first != frontier_) {
    write(frontier_, first - frontier_, State::kUsed);
    used_ += first - frontier_;
    const std::uint32_t gap = frontier_;
    frontier_ = first + pages;  // first, so that giving the gap back doesn't make it part of the frontier
    write(first, pages, State::kUsed);
    used_ += pages;
    give(gap, State::kFreeClean);
  } else {
    write(first, pages, State::kUsed);
    used_ += pages;
    frontier_ = first + pages;
  }
  return {first, pages, false};
}

PageRuns::Run PageRuns::take(std::uint32_t pages, std::uint32_t alignment, std::uint32_t remainder) noexcept {
  if (pages == 0 || pages > kMostPages) return {};
  for (std::uint32_t list = next_list(list_of(pages)); list < kListCount; list = next_list(list + 1)) {
    int probes = kProbes;
    for (std::uint32_t first = heads_[list]; first != 0 && probes-- > 0; first = entries_[first].next) {
      const std::uint64_t at = align_up(first, alignment, remainder);
      if (at + pages <= std::uint64_t{first} + entries_[first].pages) {
        return carve(first, static_cast<std::uint32_t>(at), pages);
      }
    }
  }
  return take_from_frontier(pages, alignment, remainder);
}

void PageRuns::give(std::uint32_t first, State state) noexcept {
  std::uint32_t pages = entries_[first].pages;
  used_ -= pages;
  forget(first);
  const auto absorb = [&](std::uint32_t neighbour) {
    const Entry& entry = entries_[neighbour];
    if (entry.state == State::kFreeStale) state = State::kFreeStale;
    unlink(neighbour);
    pages += entry.pages;
  };
  const auto is_free = [](const Entry& entry) {
    return entry.state == State::kFreeClean || entry.state == State::kFreeStale;
  };
  if (first + pages < frontier_ && is_free(entries_[first + pages])) absorb(first + pages);
  if (first > first_ && is_free(entries_[first - 1])) {
    const std::uint32_t before = first - entries_[first - 1].pages;
    absorb(before);
    first = before;
  }
  if (first + pages == frontier_ && state == State::kFreeClean) {
    frontier_ = first;
  } else {
    link(first, pages, state);
  }
}

std::uint32_t PageRuns::largest_free_pages() const noexcept {
  std::uint32_t largest = end_ - frontier_;
  for (std::uint32_t list = next_list(0); list < kListCount; list = next_list(list + 1)) {
    for (std::uint32_t first = heads_[list]; first != 0; first = entries_[first].next) {
      largest = std::max(largest, entries_[first].pages);
    }
  }
  return largest;
}

}  // namespace tare
