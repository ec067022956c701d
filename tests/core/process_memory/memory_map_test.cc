#include "core/process_memory/memory_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace tare::core {
namespace {

TEST(MemoryMap, ReadsLines) {
  const auto ranges = parse_memory_map(
      "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/a program\n"
      "00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
      "nonsense\n"
      "7f0000000000-7f0000021000 rw-s 00000000 00:00 0 \n");
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0].name, "/usr/bin/a program");
  EXPECT_TRUE(ranges[0].executable && !ranges[0].writable);
  EXPECT_EQ(ranges[0].inode, 173521u);
  EXPECT_EQ(ranges[1].inode, 0u);
  EXPECT_EQ(ranges[1].range, (AddressRange{0xe03000, 0xe24000}));
  EXPECT_EQ(ranges[1].name, "[heap]");
  EXPECT_TRUE(ranges[1].writable && ranges[1].readable && !ranges[1].executable && !ranges[1].shared);
  EXPECT_EQ(ranges[2].name, "");
  EXPECT_TRUE(ranges[2].shared);
}

TEST(MemoryMap, OfThisProcessHoldsItsStack) {
  const int here = 0;
  const auto address = reinterpret_cast<std::uint64_t>(&here);
  const auto ranges = memory_map_of(::getpid());
  EXPECT_TRUE(std::any_of(ranges.begin(), ranges.end(), [&](const MappedRange& mapped) {
    return mapped.range.start <= address && address < mapped.range.end && mapped.name == "[stack]";
  }));
  EXPECT_TRUE(memory_map_of(-1).empty());
}

}  // namespace
}  // namespace tare::core
