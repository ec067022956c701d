// Page runs against a plain model: a map of live runs and a flag a page.
#include "lib/cage/page_runs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tare {
namespace {

using State = PageRuns::State;

// Every run as the model knows it, and what must hold of any answer.
class Model {
 public:
  Model(std::uint32_t first, std::uint32_t end) : first_(first), end_(end), dirty_(end), entries_(end) {}

  PageRuns::Entry* entries() { return entries_.data(); }

  void took(PageRuns::Run run, std::uint32_t alignment, std::uint32_t remainder) {
    ASSERT_GE(run.first, first_);
    ASSERT_LE(run.first + run.pages, end_);
    ASSERT_EQ(run.first % alignment, remainder);
    const auto after = live_.lower_bound(run.first);
    if (after != live_.end()) {
      ASSERT_LE(run.first + run.pages, after->first);
    }
    if (after != live_.begin()) {
      const auto before = std::prev(after);
      ASSERT_LE(before->first + before->second, run.first);
    }
    for (std::uint32_t page = run.first; page < run.first + run.pages; ++page) {
      if (!run.stale) {
        ASSERT_FALSE(dirty_[page]) << "page " << page << " was said to be zero";
      }
      dirty_[page] = true;  // the user writes
    }
    live_[run.first] = run.pages;
    used_ += run.pages;
  }

  void gave(std::uint32_t first, State state) {
    const std::uint32_t pages = live_.at(first);
    if (state == State::FreeClean) clean(first, pages);
    used_ -= pages;
    live_.erase(first);
  }

  void clean(std::uint32_t first, std::uint32_t pages) {
    for (std::uint32_t page = first; page < first + pages; ++page) dirty_[page] = false;
  }

  std::uint32_t largest_gap() const {
    std::uint32_t largest = 0;
    std::uint32_t from = first_;
    for (const auto& [first, pages] : live_) {
      largest = std::max(largest, first - from);
      from = first + pages;
    }
    return std::max(largest, end_ - from);
  }

  bool would_fit(std::uint32_t pages, std::uint32_t alignment, std::uint32_t remainder) const {
    std::uint32_t from = first_;
    const auto fits = [&](std::uint32_t to) {
      std::uint32_t at = from;
      while (at < to && at % alignment != remainder) ++at;
      return at + pages <= to;
    };
    for (const auto& [first, count] : live_) {
      if (fits(first)) return true;
      from = first + count;
    }
    return fits(end_);
  }

  const std::map<std::uint32_t, std::uint32_t>& live() const { return live_; }
  std::uint32_t used() const { return used_; }

 private:
  std::uint32_t first_;
  std::uint32_t end_;
  std::uint32_t used_ = 0;
  std::map<std::uint32_t, std::uint32_t> live_;
  std::vector<bool> dirty_;
  std::vector<PageRuns::Entry> entries_;
};

void random_walk(std::uint32_t seed, std::uint32_t end, std::uint32_t longest) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  constexpr std::uint32_t kFirst = 3;
  Model model(kFirst, end);
  PageRuns runs(model.entries(), kFirst, end);
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int step = 0; step < 4000; ++step) {
    const std::uint32_t dice = below(100);
    if (dice < 52) {
      const std::uint32_t pages = 1 + below(1 + below(longest));
      const std::uint32_t alignment = below(3) == 0 ? 1u << below(7) : 1;
      const std::uint32_t remainder = below(alignment);
      const bool fits = model.would_fit(pages, alignment, remainder);
      const PageRuns::Run run = runs.take(pages, alignment, remainder);
      ASSERT_EQ(run.pages != 0, fits) << pages << " pages at " << alignment;
      if (run.pages == 0) continue;
      ASSERT_EQ(run.pages, pages);
      model.took(run, alignment, remainder);
      if (::testing::Test::HasFatalFailure()) return;
    } else if (dice < 99 && !model.live().empty()) {
      auto victim = model.live().lower_bound(below(end));
      if (victim == model.live().end()) victim = model.live().begin();
      const std::uint32_t first = victim->first;
      ASSERT_EQ(runs.used_pages_at(first), victim->second);
      const State state = below(2) == 0 ? State::FreeClean : State::FreeStale;
      model.gave(first, state);
      runs.give(first, state);
      ASSERT_EQ(runs.used_pages_at(first), 0u);
    } else if (dice == 99) {
      const std::uint32_t kept = below(2) == 0 ? 0 : below(longest);
      runs.clean_stale(kept, [&](std::uint32_t first, std::uint32_t pages) { model.clean(first, pages); });
      if (kept == 0) {
        ASSERT_EQ(runs.stale_pages(), 0u);
      }
    }
    ASSERT_EQ(runs.used_pages(), model.used());
    ASSERT_EQ(runs.largest_free_pages(), model.largest_gap());
  }
  // Only first pages of live runs may be given back.
  for (std::uint32_t page = 0; page < end; ++page) {
    const auto found = model.live().find(page);
    ASSERT_EQ(runs.used_pages_at(page), found == model.live().end() ? 0u : found->second) << "page " << page;
  }
  while (!model.live().empty()) {
    const std::uint32_t first = model.live().begin()->first;
    model.gave(first, State::FreeClean);
    runs.give(first, State::FreeClean);
  }
  runs.clean_stale(0, [](std::uint32_t, std::uint32_t) {});
  EXPECT_EQ(runs.frontier(), kFirst);
  EXPECT_EQ(runs.largest_free_pages(), end - kFirst);
}

TEST(PageRuns, RandomTakesAndGivesMatchAModel) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) random_walk(seed, 700, 40);
}

TEST(PageRuns, LongRunsMatchAModel) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) random_walk(seed, 6000, 900);
}

TEST(PageRuns, FreshBooksStayUntouched) {
  std::vector<PageRuns::Entry> entries(1000);
  PageRuns runs(entries.data(), 1, 1000);
  runs.take(10);
  for (std::size_t page = 11; page < entries.size(); ++page) ASSERT_EQ(entries[page].pages, 0u) << page;
}

TEST(PageRuns, TheLowestStalePagesMayBeKept) {
  std::vector<PageRuns::Entry> entries(1000);
  PageRuns runs(entries.data(), 1, 1000);
  std::vector<PageRuns::Run> taken;
  for (int i = 0; i < 6; ++i) taken.push_back(runs.take(10));
  for (const std::size_t i : {0u, 2u, 4u}) runs.give(taken[i].first, State::FreeStale);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cleaned;
  runs.clean_stale(14, [&](std::uint32_t first, std::uint32_t pages) { cleaned.emplace_back(first, pages); });
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected = {{taken[2].first + 4, 6}, {taken[4].first, 10}};
  EXPECT_EQ(cleaned, expected);
  EXPECT_EQ(runs.stale_pages(), 20u) << "a run is stale as a whole";
}

TEST(PageRuns, FreedRunsComeBeforeFreshPages) {
  std::vector<PageRuns::Entry> entries(1000);
  PageRuns runs(entries.data(), 1, 1000);
  const PageRuns::Run hole = runs.take(7);
  runs.take(1);
  runs.give(hole.first, State::FreeClean);
  EXPECT_EQ(runs.take(7).first, hole.first);
}

TEST(PageRuns, AFitIsFoundBehindManyThatAreTooShort) {
  std::vector<PageRuns::Entry> entries(4000);
  PageRuns runs(entries.data(), 1, 1 + 19 + 1 + 40 * 17);
  // 16 to 17 pages are in one list: the 17 lies behind forty of 16, and nothing else is left.
  const PageRuns::Run longer = runs.take(17);
  runs.take(3);
  std::vector<PageRuns::Run> shorter;
  for (int i = 0; i < 40; ++i) {
    shorter.push_back(runs.take(16));
    ASSERT_NE(runs.take(1).pages, 0u);
  }
  EXPECT_EQ(runs.take(1).pages, 0u);
  runs.give(longer.first, State::FreeClean);
  for (const PageRuns::Run& run : shorter) runs.give(run.first, State::FreeClean);
  EXPECT_EQ(runs.take(17).first, longer.first);
}

}  // namespace
}  // namespace tare
