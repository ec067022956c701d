#include "tare/gc/heap_statistics.h"

#include "heap_fixture.h"
#include "tare/gc/heap_vector.h"
#include "tare/memory_reporter.h"

namespace tare::gc {
namespace {

using namespace testing;

using HeapStatistics = HeapTest;

struct Quoted : GarbageCollected<Quoted> {
  static constexpr std::string_view kGcName = "a \"name\"";
  void trace(Visitor&) const {}
};

TEST_F(HeapStatistics, TellTheSameAsTheHeap) {
  RootedVector<Member<Knot>> kept;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(kept.push_back(heap_, make_one<Knot>(i)));
  Persistent<Quoted> quoted = make_one<Quoted>();
  collect();
  const std::string json = to_json(heap_);
  const auto has = [&](const std::string& part) { return json.find(part) != std::string::npos; };
  const HeapUse use = heap_.use();
  EXPECT_TRUE(has("\"live_objects\": " + std::to_string(use.live_objects) + ","));
  EXPECT_TRUE(has("\"page_bytes\": " + std::to_string(use.page_bytes) + ","));
  EXPECT_TRUE(has("\"used_bytes\": " + std::to_string(heap_.cage_use().used_bytes) + ","));
  // 16 bytes of a Knot and 4 of header, in cells of 24.
  EXPECT_TRUE(has("{\"name\": \"" + kKnotName + "\", \"objects\": 1000, \"cell_bytes\": 24000}")) << json;
  EXPECT_TRUE(has("{\"name\": \"a \\\"name\\\"\", \"objects\": 1, \"cell_bytes\": 16}")) << json;
  EXPECT_TRUE(
      has("{\"cell_bytes\": 24, \"pages\": 1, \"page_bytes\": 65536, \"discarded_bytes\": 0, \"cells\": 2730, "
          "\"objects\": 1000}"))
      << json;
  EXPECT_EQ(json.front(), '{');
  EXPECT_EQ(json.substr(json.size() - 3), "]}\n");
}

TEST_F(HeapStatistics, TellWhatWasGivenBackOfPagesInUse) {
  Persistent<Knot> knot = make_one<Knot>();
  for (int i = 0; i < 1000; ++i) static_cast<void>(make_one<Knot>(i));
  collect();
  heap_.trim();
  const std::string json = to_json(heap_);
  const auto times = [&](const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = json.find(part); at != std::string::npos; at = json.find(part, at + 1)) ++count;
    return count;
  };
  // All but the 4 KiB that the knot lies in.
  EXPECT_EQ(heap_.use().discarded_bytes, 61'440u);
  EXPECT_EQ(times("\"discarded_bytes\": 61440,"), 2u) << json;  // of the heap, and of cells of 24
}

TEST_F(HeapStatistics, LargeObjectsHaveARowOfTheirOwn) {
  struct Large : GarbageCollected<Large> {
    void trace(Visitor&) const {}
    char bytes[100'000];
  };
  Persistent<Large> first = make_one<Large>();
  Persistent<Large> second = make_one<Large>();
  const std::string pages = std::to_string(heap_.use().page_bytes);
  EXPECT_NE(to_json(heap_).find("\"sizes\": [{\"cell_bytes\": 0, \"pages\": 2, \"page_bytes\": " + pages +
                                ", \"discarded_bytes\": 0, \"cells\": 2, \"objects\": 2}]"),
            std::string::npos)
      << to_json(heap_);
}

TEST_F(HeapStatistics, AnEmptyHeapHasNoTypes) {
  EXPECT_NE(to_json(heap_).find("\"types\": [], \"sizes\": []}"), std::string::npos) << to_json(heap_);
}

TEST_F(HeapStatistics, TheCageReportsHowFullItIs) {
  ReporterRegistry registry;
  const ReporterHandle handle = registry.add("explicit/cage", [this](ReportSink& sink) { heap_.report_cage(sink); });
  Persistent<Knot> knot = make_one<Knot>();
  const CageUse use = heap_.cage_use();
  ASSERT_GE(use.used_bytes, std::size_t{64} << 10);
  const MemorySnapshot snapshot = registry.collect();
  // 64 bytes of page and 1,024 of bits for each 64 KiB.
  EXPECT_EQ(snapshot.amount("explicit/cage/tables"), static_cast<std::int64_t>(use.used_bytes / 65536 * 1088));
  EXPECT_LE(*snapshot.amount("cage/occupancy"), 10'000);
  EXPECT_EQ(*snapshot.amount("cage/occupancy"),
            static_cast<std::int64_t>(use.used_bytes * 10'000 / (use.reserved_bytes - (std::size_t{256} << 10))));
  EXPECT_LE(*snapshot.amount("cage/fragmentation"), 10'000);
}

}  // namespace
}  // namespace tare::gc
