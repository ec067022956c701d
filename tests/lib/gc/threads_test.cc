// Heaps of several threads in one cage.
#include <atomic>
#include <thread>
#include <vector>

#include "heap_fixture.h"

namespace tare::gc {
namespace {

using namespace testing;

TEST(HeapThreads, TenHeapsInTenThreadsShareTheCage) {
  constexpr int kThreads = 10;
  constexpr int kRounds = 20'000;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&good, t] {
      HeapOptions options;
      options.least_growth_bytes = std::size_t{256} << 10;
      Heap heap = std::move(Heap::create(options).value());
      Persistent<Knot> list;
      for (int i = 0; i < kRounds; ++i) {
        Knot* knot = make<Knot>(heap, t * kRounds + i);
        if (i % 4 == 0) {
          knot->left = list.get();
          list = knot;
        }
        if (i % 5000 == 0) heap.collect(StackState::HoldsNone);
      }
      int expected = t * kRounds + kRounds - 4;
      bool is_good = heap.use().collections > 2;
      for (const Knot* knot = list.get(); knot != nullptr; knot = knot->left.get(), expected -= 4) {
        is_good = is_good && knot->value == expected && heap.owns(knot);
      }
      if (is_good && expected == t * kRounds - 4) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads);
}

}  // namespace
}  // namespace tare::gc
