// Many threads in one cage: no page is anyone else's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "lib/support/child_of_threads.h"
#include "tare/cage.h"

namespace tare {
namespace {

TEST(CageThreads, RunsAreEachThreadsOwn) {
  constexpr int kThreads = 4;
  Cage cage = std::move(Cage::reserve({.size_bytes = std::size_t{64} << 20}).value());
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937 random(static_cast<unsigned>(id));
      std::vector<PageRun> mine;
      for (int step = 0; step < 1500; ++step) {
        if (mine.size() < 40 && random() % 2 == 0) {
          const CageResult<PageRun> got = cage.allocate(1 + random() % 50'000, std::size_t{1} << random() % 17);
          if (!got) continue;
          std::memset(got.value().data, id + 1, got.value().size_bytes);
          mine.push_back(got.value());
        } else if (!mine.empty()) {
          const std::size_t which = random() % mine.size();
          const PageRun run = mine[which];
          const auto is_mine = [&](std::byte b) { return b == static_cast<std::byte>(id + 1); };
          if (!std::all_of(run.data, run.data + run.size_bytes, is_mine)) ++wrong[static_cast<std::size_t>(id)];
          cage.free(run, random() % 2 == 0 ? FreedPages::Return : FreedPages::Keep);
          mine[which] = mine.back();
          mine.pop_back();
        }
        if (step % 256 == 0) cage.trim();
        if (step % 128 == 0) cage.use();
      }
      for (const PageRun& run : mine) cage.free(run);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(wrong.begin(), wrong.end(), 0), kThreads);
  cage.trim();
  EXPECT_EQ(cage.use().used_bytes, 0u);
  EXPECT_EQ(cage.resident_bytes(), 0u);
  EXPECT_EQ(cage.use().largest_free_bytes, cage.size_bytes() - cage.page_bytes());
}

TEST(CageThreads, AreNotMissedByAForkedChild) {
  Cage cage = std::move(Cage::reserve({.size_bytes = std::size_t{64} << 20}).value());
  const auto take_and_give = [&cage] {
    const CageResult<PageRun> run = cage.allocate(64 * 1024);
    if (!run) return 1;
    std::memset(run.value().data, 1, run.value().size_bytes);
    cage.free(run.value());
    return 0;
  };
  const int wrong =
      testing::in_children_of_threads(200, 2, [&](int) { static_cast<void>(take_and_give()); }, take_and_give);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tare
