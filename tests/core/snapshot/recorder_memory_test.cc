#include "core/snapshot/recorder_memory.h"

#include <gtest/gtest.h>

#include <memory>

#include "fake_heap.h"
#include "trace/model/own_ranges.h"

namespace tare::core {
namespace {

using trace::OwnRanges;

constexpr std::uint64_t kList = 0x10000;

void put_list(test::FakeHeap& heap, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
              std::uint32_t count) {
  heap.region(kList, sizeof(OwnRanges));
  heap.word(kList, count);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    heap.word(kList + offsetof(OwnRanges, ranges) + 16 * i, ranges[i].first);
    heap.word(kList + offsetof(OwnRanges, ranges) + 16 * i + 8, ranges[i].second);
  }
}

MappedRange unnamed_mapping(std::uint64_t start, std::uint64_t end) {
  return {{start, end}, true, true, false, false, 0, ""};
}

TEST(RecorderMemory, IsReadFromTheProgramsList) {
  test::FakeHeap heap;
  put_list(heap, {{0x5000, 0x1000}, {0x2000, 0x1000}, {0x9000, 0}}, 3);
  const std::vector<AddressRange> expected{{0x2000, 0x3000}, {0x5000, 0x6000}};
  EXPECT_EQ(recorder_ranges(heap, kList), expected);
  EXPECT_TRUE(recorder_ranges(heap, 0).empty());
  EXPECT_TRUE(recorder_ranges(heap, 0x999000).empty());
}

TEST(RecorderMemory, ListsThatMakeNoSenseAreCutDown) {
  test::FakeHeap heap;
  put_list(heap, {{~0ull - 10, 0x1000}, {0x2000, 0x3000}, {0x3000, 0x1000}}, 0xffffffff);
  EXPECT_EQ(recorder_ranges(heap, kList), (std::vector<AddressRange>{{0x2000, 0x5000}}));
}

TEST(RecorderMemory, IsCutOutOfMappings) {
  const std::vector<MappedRange> map{unnamed_mapping(0x1000, 0x8000), unnamed_mapping(0x9000, 0xa000)};
  const std::vector<AddressRange> cut{{0x2000, 0x3000}, {0x7000, 0x8000}, {0x9000, 0xa000}};
  const std::vector<MappedRange> left = without_ranges(map, cut);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].range, (AddressRange{0x1000, 0x2000}));
  EXPECT_EQ(left[1].range, (AddressRange{0x3000, 0x7000}));
  EXPECT_EQ(without_ranges(map, {}).size(), 2u);
}

TEST(RecorderMemory, HasItsShareOfAMappingsResidentBytes) {
  const std::vector<AddressRange> recorder{{0x2000, 0x4000}};
  const auto present = [](const AddressRange& range) { return range.start == 0x2000 ? 0x1000u : range.bytes(); };
  const auto parts =
      with_recorder_named({{unnamed_mapping(0x1000, 0x8000), 0x6000, 0x2000}}, recorder, "library", present);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].mapped.name, "");
  EXPECT_EQ(parts[1].mapped.name, "library");
  EXPECT_EQ(parts[0].resident_bytes, 0x1000u);
  EXPECT_EQ(parts[1].resident_bytes, 0x1000u);
  EXPECT_EQ(parts[2].resident_bytes, 0x4000u);
  EXPECT_EQ(parts[0].touched_bytes + parts[1].touched_bytes + parts[2].touched_bytes, 0x2000u);
}

}  // namespace
}  // namespace tare::core
