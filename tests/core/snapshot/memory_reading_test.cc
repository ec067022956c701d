// Parts of smaps that are sorted without events; and this process's own.
#include "core/snapshot/memory_reading.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tare::core {
namespace {

using trace::MemoryReading;
using trace::RangeKind;

const ReadingFacts kFacts{"/lib/libtare-record.so", "/dev/shm/tare-1/", "/dev/shm/tare-1/7.0.spool", 0};

constexpr const char* kReadingText =
    "00400000-00401000 rw-p 00000000 fe:00 12   /bin/app\n"
    "Rss:                   4 kB\n"
    "00401000-00403000 rw-p 00000000 00:00 0 \n"  // its zeroed data
    "Rss:                   8 kB\n"
    "00403000-00405000 rw-p 00000000 00:00 0 \n"  // behind that: not a file's
    "Rss:                   4 kB\n"
    "00600000-00700000 rw-p 00000000 00:00 0    [heap]\n"
    "Rss:                 512 kB\n"
    "AnonHugePages:       256 kB\n"
    "10000000-10001000 ---p 00000000 00:00 0 \n"
    "Rss:                   0 kB\n"
    "10001000-10801000 rw-p 00000000 00:00 0 \n"
    "Rss:                  12 kB\n"
    "11000000-11100000 rw-p 00000000 00:00 0 \n"  // nobody has touched it
    "Rss:                   0 kB\n"
    "12000000-12100000 ---p 00000000 00:00 0 \n"
    "Rss:                   0 kB\n"
    "20000000-20010000 rw-s 00000000 00:01 9    /memfd:x (deleted)\n"
    "Rss:                  20 kB\n"
    "30000000-30010000 rw-p 00000000 00:00 0    /lib/libtare-record.so\n"
    "Rss:                  24 kB\n"
    "40000000-40010000 rw-s 00000000 00:10 3    /dev/shm/tare-1/7.0.spool\n"
    "Rss:                  28 kB\n"
    "7ff000000000-7ff000021000 rw-p 00000000 00:00 0    [stack]\n"
    "Rss:                  16 kB\n"
    "7ff000022000-7ff000023000 r-xp 00000000 00:00 0    [vdso]\n"
    "Rss:                   4 kB\n";

TEST(MemoryReading, IsSortedByNamesAndNeighbours) {
  const MemoryReading reading = sorted_reading(parse_resident_ranges(kReadingText), kFacts);
  EXPECT_EQ(reading.file_bytes, 4u << 10);
  EXPECT_EQ(reading.shared_bytes, 20u << 10);
  EXPECT_EQ(reading.recorder_bytes, 52u << 10);
  EXPECT_EQ(reading.stack_bytes, 16u << 10);
  EXPECT_EQ(reading.other_bytes, 4u << 10);
  EXPECT_EQ(reading.huge_bytes, 256u << 10);
  const std::vector<trace::ResidentPiece> expected{{0x401000, 0x2000, 8 << 10, RangeKind::BehindFile},
                                                   {0x403000, 0x2000, 4 << 10, RangeKind::Anonymous},
                                                   {0x600000, 0x100000, 512 << 10, RangeKind::Break},
                                                   {0x10001000, 0x800000, 12 << 10, RangeKind::AboveGuard},
                                                   {0x11000000, 0x100000, 0, RangeKind::Anonymous}};
  EXPECT_EQ(reading.pieces, expected);
}

TEST(MemoryReading, HasAllOfThisProcess) {
  constexpr std::size_t kBytes = 32 << 20;
  void* const own = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(own, MAP_FAILED);
  ReadingFacts facts;
  facts.spool_path = "/";  // any file
  const std::optional<MemoryReading> reading = read_memory(::getpid(), facts);
  const std::optional<std::uint64_t> rss_bytes = resident_bytes_of(::getpid());
  ::munmap(own, kBytes);
  ASSERT_TRUE(reading && rss_bytes);
  std::uint64_t pieces = 0;
  for (const trace::ResidentPiece& piece : reading->pieces) pieces += piece.resident_bytes;
  EXPECT_GE(pieces, kBytes);
  const std::uint64_t all = pieces + reading->file_bytes + reading->shared_bytes + reading->stack_bytes +
                            reading->other_bytes + reading->recorder_bytes;
  EXPECT_NEAR(static_cast<double>(all), static_cast<double>(*rss_bytes), 4 << 20);
  EXPECT_GT(reading->page_table_bytes, 0u);
}

TEST(MemoryReading, IsNotOfAnotherImage) {
  ReadingFacts facts;
  facts.spool_path = "/no/such/spool";
  EXPECT_FALSE(read_memory(::getpid(), facts));
}

}  // namespace
}  // namespace tare::core
