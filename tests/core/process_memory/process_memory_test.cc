#include "core/process_memory/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace tare::core {
namespace {

constexpr std::size_t kPage = 4096;

struct Pages {
  explicit Pages(std::size_t count) : bytes(count * kPage) {
    start = static_cast<char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~Pages() { ::munmap(start, bytes); }
  bool in_memory(std::size_t page) const {
    unsigned char present = 0;
    ::mincore(start + page * kPage, kPage, &present);
    return (present & 1) != 0;
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(start); }
  std::size_t bytes;
  char* start;
};

TEST(ProcessMemory, ReadsWhatIsThereAndLeavesTheRestUntouched) {
  const Pages pages(64);
  std::strcpy(pages.start + 40 * kPage + 5, "written");
  const auto map = memory_map_of(::getpid());
  ProcessMemory memory(::getpid(), map);
  std::vector<std::uint8_t> out(pages.bytes, 0xaa);
  ASSERT_EQ(memory.read(pages.address(), out), pages.bytes);
  EXPECT_STREQ(reinterpret_cast<const char*>(out.data()) + 40 * kPage + 5, "written");
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out.back(), 0);
  EXPECT_FALSE(pages.in_memory(0));
  EXPECT_FALSE(pages.in_memory(63));
}

// The first look at a region is kept for small reads; a large one asks again.
TEST(ProcessMemory, LeavesPagesOfSmallReadsUntouched) {
  const Pages pages(8);
  std::strcpy(pages.start + 3 * kPage + 5, "written");
  const auto map = memory_map_of(::getpid());
  ProcessMemory memory(::getpid(), map);
  std::vector<std::uint8_t> out(pages.bytes, 0xaa);
  for (const std::size_t bytes : {std::size_t{1}, kPage, 2 * kPage, pages.bytes}) {
    ASSERT_EQ(memory.read(pages.address(), std::span(out).first(bytes)), bytes);
    EXPECT_EQ(out[bytes - 1], 0);
    for (const std::size_t page : {0, 1, 2, 4, 7}) EXPECT_FALSE(pages.in_memory(page)) << bytes << ", page " << page;
  }
  EXPECT_STREQ(reinterpret_cast<const char*>(out.data()) + 3 * kPage + 5, "written");
}

TEST(ProcessMemory, LeavesPagesOfTwoNeighboursUntouched) {
  const Pages pages(8);
  ASSERT_EQ(::madvise(pages.start + 4 * kPage, 4 * kPage, MADV_DONTFORK), 0);  // a mapping of its own
  std::strcpy(pages.start + 3 * kPage + 5, "written");
  const auto map = memory_map_of(::getpid());
  ProcessMemory memory(::getpid(), map);
  std::vector<std::uint8_t> out(pages.bytes, 0xaa);
  ASSERT_EQ(memory.read(pages.address(), out), pages.bytes);
  EXPECT_STREQ(reinterpret_cast<const char*>(out.data()) + 3 * kPage + 5, "written");
  for (const std::size_t page : {0, 1, 2, 4, 5, 6, 7}) EXPECT_FALSE(pages.in_memory(page)) << "page " << page;
}

TEST(ProcessMemory, CountsWholePagesThatNobodyTouched) {
  const Pages pages(64);
  std::memset(pages.start + 8 * kPage, 1, 4 * kPage);
  const auto map = memory_map_of(::getpid());
  ProcessMemory memory(::getpid(), map);
  EXPECT_EQ(memory.absent_bytes({pages.address(), pages.address() + pages.bytes}), 60 * kPage);
  EXPECT_EQ(memory.absent_bytes({pages.address() + 1, pages.address() + 3 * kPage - 1}), kPage);
  EXPECT_EQ(memory.absent_bytes({pages.address() + 8 * kPage, pages.address() + 12 * kPage}), 0u);
}

TEST(ProcessMemory, StopsWhereNothingIsMapped) {
  const Pages pages(64);
  std::memset(pages.start, 7, pages.bytes);
  ::munmap(pages.start + 32 * kPage, 32 * kPage);
  const auto map = memory_map_of(::getpid());
  ProcessMemory memory(::getpid(), map);
  std::vector<std::uint8_t> out(pages.bytes);
  EXPECT_EQ(memory.read(pages.address() + 100, out), 32 * kPage - 100);
  EXPECT_EQ(memory.read(pages.address() + 33 * kPage, std::span(out).first(10)), 0u);
}

}  // namespace
}  // namespace tare::core
