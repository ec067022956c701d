// Large tables of the recorder lie together and apart from the program's mappings, so that the kernel's search for a
// place isn't slowed by the gaps below them.
#include "recorder/unwind/own_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tare::recorder {
namespace {

constexpr std::uint64_t kLarge = 1 << 20;
// The tables lie 2 TiB below the stack here, and the kernel puts mappings up to 1 TiB and 16 GiB below it, by chance.
constexpr std::uint64_t kFar = (std::uint64_t{1} << 40) - (std::uint64_t{32} << 30);

// ThreadSanitizer keeps that part of the address space for itself.
#ifdef __SANITIZE_THREAD__
constexpr bool kIsPlaceTaken = true;
#else
constexpr bool kIsPlaceTaken = false;
#endif

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

TEST(OwnMemory, LargeTablesLieTogether) {
  if (kIsPlaceTaken) GTEST_SKIP() << "the sanitizer has the place";
  std::vector<void*> tables(100);
  for (void*& table : tables) table = reserve_zeroed(kLarge);
  const auto [first, last] = std::minmax_element(tables.begin(), tables.end());
  EXPECT_LE(address_of(*last) - address_of(*first), 2 * kLarge * tables.size());
  for (void* table : tables) give_back(table, kLarge);
}

// 100 tables with a gap of 1 MiB below each would be where the kernel looks first.
TEST(OwnMemory, ProgramsMappingsStayTogether) {
  if (kIsPlaceTaken) GTEST_SKIP() << "the sanitizer has the place";
  constexpr std::size_t kMapped = 64 << 10;
  std::vector<void*> tables;
  std::vector<void*> mappings;
  if (address_of(&tables) < std::uint64_t{4} << 40) GTEST_SKIP() << "programs have low addresses only, as under qemu";
  for (int i = 0; i < 100; ++i) {
    tables.push_back(reserve_zeroed(kLarge));
    mappings.push_back(mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(mappings.back(), MAP_FAILED);
  }
  for (void* mapping : mappings) {
    for (void* table : tables) {
      const std::uint64_t distance =
          std::max(address_of(mapping), address_of(table)) - std::min(address_of(mapping), address_of(table));
      EXPECT_GT(distance, kFar);
    }
    munmap(mapping, kMapped);
  }
  for (void* table : tables) give_back(table, kLarge);
}

TEST(OwnMemory, ReadsAsZeroAndTakesWrites) {
  auto* const table = static_cast<unsigned char*>(reserve_zeroed(kLarge));
  EXPECT_EQ(table[0], 0);
  EXPECT_EQ(table[kLarge - 1], 0);
  table[0] = table[kLarge - 1] = 1;
  give_back(table, kLarge);
}

}  // namespace
}  // namespace tare::recorder
