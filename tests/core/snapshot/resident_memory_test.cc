// The ranges of smaps, sorted by use; and this process's own.
#include "core/snapshot/resident_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace tare::core {
namespace {

using trace::MemoryKind;

constexpr const char* kRangesText =
    "00400000-00401000 r-xp 00000000 fe:00 12   /bin/app\n"
    "Size:                  4 kB\n"
    "Rss:                   4 kB\n"
    "Referenced:            4 kB\n"
    "VmFlags: rd ex mr mw me\n"
    "00600000-00700000 rw-p 00000000 00:00 0    [heap]\n"
    "Rss:                 512 kB\n"
    "Referenced:           64 kB\n"
    "10000000-10100000 rw-p 00000000 00:00 0 \n"
    "Rss:                1000 kB\n"
    "Referenced:            0 kB\n"
    "20000000-20010000 rw-p 00000000 00:00 0 \n"
    "Rss:                  64 kB\n"
    "VmFlags: rd wr mr mw me ac sd um\n"
    "30000000-30010000 rw-p 00000000 00:00 0 \n"
    "Rss:                   8 kB\n"
    "40000000-40010000 rw-s 00000000 00:10 3    /dev/shm/tare-1/spool\n"
    "Rss:                  12 kB\n"
    "7f0000000000-7f0000001000 r--p 00001000 fe:00 12   /bin/app\n"
    "Rss:                   4 kB\n"
    "7ff000000000-7ff000021000 rw-p 00000000 00:00 0    [stack]\n"
    "Rss:                  16 kB\n";

const trace::MemoryPart& part(const std::vector<trace::MemoryPart>& parts, MemoryKind kind) {
  return *std::find_if(parts.begin(), parts.end(), [&](const auto& one) { return one.kind == kind; });
}

TEST(ResidentMemory, HasServedFaultsWhereTheFlagsTellSo) {
  EXPECT_EQ(ranges_with_served_faults(parse_resident_ranges(kRangesText)),
            (std::vector<AddressRange>{{0x20000000, 0x20010000}}));
}

TEST(ResidentMemory, IsSortedByWhatItIsUsedFor) {
  const std::vector<ResidentRange> ranges = parse_resident_ranges(kRangesText);
  ASSERT_EQ(ranges.size(), 8u);
  EXPECT_EQ(ranges[1].mapped.name, "[heap]");
  EXPECT_EQ(ranges[1].touched_bytes, 64u << 10);
  const std::vector<LiveBlock> blocks = {{0x10000010, 100, 104, trace::ShapeId{0}, 1}};
  const std::vector<AddressRange> own = {{0x20000000, 0x20010000}};
  const std::vector<trace::MemoryPart> parts = memory_parts(ranges, {.map = {},
                                                                     .threads = {},
                                                                     .blocks = blocks,
                                                                     .program_mappings = own,
                                                                     .recorder_library = "/lib/libtare-record.so",
                                                                     .spool_folder = "/dev/shm/tare-1"});
  ASSERT_EQ(parts.size(), 6u);
  EXPECT_EQ(parts[0].kind, MemoryKind::Heap) << "largest first";
  EXPECT_EQ(parts[0].resident_bytes, 1512u << 10) << "the break, and the mapping with a block in it";
  EXPECT_EQ(parts[0].mapped_bytes, 2u << 20);
  EXPECT_EQ(parts[0].touched_bytes, 64u << 10);
  EXPECT_EQ(part(parts, MemoryKind::File).name, "/bin/app");
  EXPECT_EQ(part(parts, MemoryKind::File).resident_bytes, 8u << 10) << "both of its ranges";
  EXPECT_EQ(part(parts, MemoryKind::Mapping).resident_bytes, 64u << 10);
  EXPECT_EQ(part(parts, MemoryKind::Other).resident_bytes, 8u << 10);
  EXPECT_EQ(part(parts, MemoryKind::Recorder).resident_bytes, 12u << 10);
  EXPECT_EQ(part(parts, MemoryKind::Stack).resident_bytes, 16u << 10);
}

TEST(ResidentMemory, TakesTextThatMakesNoSense) {
  EXPECT_TRUE(parse_resident_ranges("").empty());
  EXPECT_TRUE(parse_resident_ranges("Rss: 12 kB\nnonsense\n").empty());
  const auto ranges = parse_resident_ranges("1000-2000 rw-p 0 0 0\nRss: 99999999999999999999999 kB\nReferenced: x\n");
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].resident_bytes, 0u);
}

TEST(ResidentMemory, TellsWhichPagesWereReadSinceItWasAskedToForget) {
  constexpr std::size_t kPages = 64;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* bytes = static_cast<volatile char*>(memory);
  for (std::size_t i = 0; i < kPages; ++i) bytes[i * page] = 1;
  const auto mine = [&] {
    for (const ResidentRange& range : resident_ranges_of(::getpid())) {
      if (range.mapped.range.start == reinterpret_cast<std::uintptr_t>(memory)) return range;
    }
    return ResidentRange{};
  };
  EXPECT_EQ(mine().resident_bytes, kPages * page);
  if (!forget_touched(::getpid()) || mine().touched_bytes != 0) {
    ::munmap(memory, kPages * page);
    GTEST_SKIP() << "this kernel doesn't forget";
  }
  // The processor doesn't mark a page table entry that it has cached; a fork empties its cache.
  if (const pid_t child = ::fork(); child == 0) {
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  int sum = 0;
  for (std::size_t i = 0; i < 16; ++i) sum += bytes[i * page];
  EXPECT_EQ(sum, 16);
  EXPECT_GE(mine().touched_bytes, 16 * page);
  EXPECT_LT(mine().touched_bytes, kPages * page);
  ::munmap(memory, kPages * page);
}

}  // namespace
}  // namespace tare::core
