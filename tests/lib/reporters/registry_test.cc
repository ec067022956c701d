// Call-backs: what they may report, when they may go, and from which threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include <malloc.h>

#include "tare/memory_reporter.h"

namespace tare {
namespace {

struct Block {
  explicit Block(std::size_t bytes) : data(std::malloc(bytes)) {}
  ~Block() { std::free(data); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::int64_t usable() const { return static_cast<std::int64_t>(::malloc_usable_size(data)); }
  void* data;
};

TEST(ReporterRegistry, CountsWhatTheAllocatorSaysOfEachBlock) {
  ReporterRegistry registry;
  const Block one(100), two(1000), three(33);
  const ReporterHandle handle = registry.add("explicit/things", [&](ReportSink& sink) {
    sink.block("one", one.data, "the first");
    const SizeOf size_of = sink.size_of("others");
    sink.heap("others", size_of(two.data) + size_of(three.data) + size_of(nullptr), "");
    sink.block("none", nullptr, "");
    sink.non_heap("mapped", 4096, "");
    sink.count("", 3, "things");
    sink.cumulative_count("made", 5, "");
    sink.percentage("used", 1234, "");
    sink.other_bytes("shared", 77, "");
  });
  const MemorySnapshot snapshot = registry.collect();
  EXPECT_TRUE(snapshot.problems.empty());
  EXPECT_EQ(snapshot.amount("explicit/things/one"), one.usable());
  EXPECT_EQ(snapshot.amount("explicit/things/others"), two.usable() + three.usable());
  EXPECT_EQ(snapshot.amount("explicit/things/none"), std::nullopt);
  EXPECT_EQ(snapshot.explicit_bytes(), one.usable() + two.usable() + three.usable() + 4096);
  ASSERT_EQ(snapshot.reports.size(), 7u);
  // Memory outside the program stands apart from it.
  EXPECT_EQ(snapshot.reports[3].path, "things");
  EXPECT_EQ(snapshot.reports[3].amount, 3);
  EXPECT_EQ(snapshot.reports[3].description, "things");
  EXPECT_EQ(snapshot.reports[4].path, "things/made");
  EXPECT_EQ(snapshot.reports[4].units, ReportUnits::CumulativeCount);
  EXPECT_EQ(snapshot.reports[5].path, "things/shared");
  EXPECT_EQ(snapshot.reports[5].kind, ReportKind::Other);
  EXPECT_EQ(snapshot.reports[6].amount, 1234);
}

TEST(ReporterRegistry, TakesSingleAmounts) {
  ReporterRegistry registry;
  const Block block(500);
  const ReporterHandle heap = registry.add({"explicit/single", ReportKind::Heap, ReportUnits::Bytes, "one"},
                                           [&](SizeOf size_of) { return size_of(block.data); });
  const ReporterHandle share = registry.add({"explicit/share", ReportKind::Heap, ReportUnits::Percentage, ""},
                                            [](SizeOf) { return std::uint64_t{10'000}; });
  const MemorySnapshot snapshot = registry.collect();
  EXPECT_EQ(snapshot.amount("explicit/single"), block.usable());
  EXPECT_EQ(snapshot.amount("share"), 10'000);  // no bytes: not of the program's memory, whatever was said
  EXPECT_EQ(snapshot.explicit_bytes(), block.usable());
}

TEST(ReporterRegistry, AddsUpOnePathAndRefusesToMixUnits) {
  ReporterRegistry registry;
  const auto report = [](ReportSink& sink) { sink.non_heap("", 10, "first"); };
  const ReporterHandle a = registry.add("explicit/shared", report);
  const ReporterHandle b = registry.add("explicit/shared", report);
  const ReporterHandle c = registry.add("explicit", [](ReportSink& sink) { sink.heap("shared", 5, "second"); });
  const MemorySnapshot snapshot = registry.collect();
  ASSERT_EQ(snapshot.reports.size(), 1u);
  EXPECT_EQ(snapshot.reports[0].amount, 20);
  EXPECT_EQ(snapshot.reports[0].reports, 2u);
  EXPECT_EQ(snapshot.reports[0].description, "first");
  ASSERT_EQ(snapshot.problems.size(), 1u);
  EXPECT_NE(snapshot.problems[0].find("explicit/shared"), std::string::npos);
}

TEST(ReporterRegistry, MeasuresByAnotherAllocatorsWord) {
  std::size_t asked = 0;
  const SizeOf counting(
      [](const void*, void* count) -> std::size_t {
        ++*static_cast<std::size_t*>(count);
        return 48;
      },
      &asked);
  int block = 0;
  EXPECT_EQ(counting(&block), 48u);
  EXPECT_EQ(counting(nullptr), 0u);
  EXPECT_EQ(asked, 1u);
  const Block real(20);
  EXPECT_EQ(SizeOf()(real.data), static_cast<std::size_t>(real.usable()));
}

TEST(ReporterRegistry, ForgetsWhoIsGone) {
  ReporterHandle outlives;
  {
    ReporterRegistry registry;
    ReporterHandle first = registry.add("a", [](ReportSink& sink) { sink.count("", 1, ""); });
    ReporterHandle moved = std::move(first);
    EXPECT_FALSE(first);
    EXPECT_TRUE(moved);
    EXPECT_EQ(registry.collect().amount("a"), 1);
    moved.release();
    moved.release();
    EXPECT_EQ(registry.collect().amount("a"), std::nullopt);
    outlives = registry.add("b", [](ReportSink& sink) { sink.count("", 1, ""); });
    outlives = registry.add("c", [](ReportSink& sink) { sink.count("", 1, ""); });
    EXPECT_EQ(registry.collect().reports.size(), 1u);
  }
  outlives.release();
}

TEST(ReporterRegistry, CallBacksMayComeAndGoDuringACollection) {
  ReporterRegistry registry;
  ReporterHandle self, later, added;
  self = registry.add("self", [&](ReportSink& sink) {
    sink.count("", 1, "");
    self.release();
    sink.count("", 1, "");  // its function is still there
  });
  const ReporterHandle remover = registry.add("remover", [&](ReportSink& sink) {
    later.release();
    if (!added) added = registry.add("added", [](ReportSink& inner) { inner.count("", 1, ""); });
    sink.count("", 1, "");
  });
  later = registry.add("later", [](ReportSink& sink) { sink.count("", 1, ""); });
  const MemorySnapshot first = registry.collect();
  EXPECT_EQ(first.amount("self"), 2);
  EXPECT_EQ(first.amount("later"), std::nullopt);
  EXPECT_EQ(first.amount("added"), 1);  // behind the one that runs, so its turn comes
  const MemorySnapshot second = registry.collect();
  EXPECT_EQ(second.amount("self"), std::nullopt);
  EXPECT_EQ(second.amount("remover"), 1);
}

TEST(ReporterRegistry, AFunctionThatHoldsHandlesMayBeDestroyed) {
  auto registry = std::make_unique<ReporterRegistry>();
  auto inner = std::make_shared<ReporterHandle>(registry->add("inner", [](ReportSink&) {}));
  ReporterHandle outer = registry->add("outer", [inner](ReportSink&) {});
  inner.reset();
  outer.release();
  inner = std::make_shared<ReporterHandle>(registry->add("inner", [](ReportSink&) {}));
  outer = registry->add("outer", [inner](ReportSink&) {});
  inner.reset();
  registry.reset();
}

TEST(ReporterRegistry, ReleaseWaitsForTheCallBackThatRuns) {
  ReporterRegistry registry;
  std::atomic<bool> is_inside{false}, is_releasing{false}, is_released{false};
  bool was_released_inside = true;
  ReporterHandle handle = registry.add("slow", [&](ReportSink&) {
    is_inside = true;
    while (!is_releasing) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    was_released_inside = is_released;
  });
  std::thread collector([&] { registry.collect(); });
  while (!is_inside) std::this_thread::yield();
  is_releasing = true;
  handle.release();
  is_released = true;
  collector.join();
  EXPECT_FALSE(was_released_inside);
}

TEST(ReporterRegistry, ServesManyThreads) {
  ReporterRegistry registry;
  constexpr int kThreads = 4, kTurns = 200;
  std::atomic<std::int64_t> seen{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&registry, &seen] {
      for (int turn = 0; turn < kTurns; ++turn) {
        auto value = std::make_unique<std::uint64_t>(7);
        const ReporterHandle handle = registry.add("value", [&value](ReportSink& sink) { sink.count("", *value, ""); });
        const MemorySnapshot snapshot = registry.collect();
        EXPECT_GE(snapshot.amount("value").value_or(0), 7);
        seen += snapshot.amount("value").value_or(0) % 7;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, 0);
  EXPECT_TRUE(registry.collect().reports.empty());
}

TEST(ReporterRegistry, ProcessHasOne) { EXPECT_EQ(&ReporterRegistry::process(), &ReporterRegistry::process()); }

TEST(HeapAllocated, FollowsABlock) {
  const auto before = heap_allocated_bytes();
  if (!before) GTEST_SKIP() << "this allocator doesn't say";
  const Block block(10 << 20);
  asm volatile("" : : "r"(block.data) : "memory");  // or the compiler takes malloc and free for nothing
  EXPECT_GE(*heap_allocated_bytes(), *before + (10 << 20));
}

}  // namespace
}  // namespace tare
