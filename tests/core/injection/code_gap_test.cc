// Places in this process, and objects whose headers are lies.
#include "core/injection/code_gap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/injection/detour.h"
#include "core/process_memory/memory_map.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kPage = 4096;

LoadedObjects objects_with(std::uint64_t code_end) {
  LoadedObject object;
  object.start = 1;
  object.end = 2;
  object.code_end = code_end;
  return {::getpid(), 0, {object}};
}

TEST(CodeGap, OfThisProcessIsUnusedCode) {
  const std::optional<LoadedObjects> objects = LoadedObjects::of(::getpid());
  ASSERT_TRUE(objects.has_value());
  const std::optional<std::uint64_t> gap = find_code_gap(::getpid(), *objects);
  ASSERT_TRUE(gap.has_value());
  EXPECT_EQ((*gap + kGapBytes) % kPage, 0u);
  EXPECT_EQ(find_code_gap(::getpid(), *objects), gap);
  const auto* const bytes = reinterpret_cast<const char*>(*gap);
  EXPECT_TRUE(std::all_of(bytes, bytes + kGapBytes, [](char byte) { return byte == 0; }));
  const std::vector<MappedRange> mappings = memory_map_of(::getpid());
  EXPECT_TRUE(std::ranges::any_of(mappings, [&](const MappedRange& mapped) {
    return mapped.executable && !mapped.writable && !mapped.shared && mapped.range.end == *gap + kGapBytes;
  }));
  EXPECT_LE(detour_bytes(), kGapBytes);
  EXPECT_EQ(detour_bytes() % sizeof(std::uint64_t), 0u);
}

// An end of code is believed only where a mapping of private code ends in the same page.
TEST(CodeGap, MappingsDecide) {
  constexpr std::size_t kCode = 100;
  const auto map = [](int protection, int flags) {
    void* const at = ::mmap(nullptr, kPage, protection, flags | MAP_ANONYMOUS, -1, 0);
    return reinterpret_cast<std::uint64_t>(at);
  };
  const std::uint64_t code = map(PROT_READ | PROT_EXEC, MAP_PRIVATE);
  EXPECT_EQ(find_code_gap(::getpid(), objects_with(code + kCode)), code + kPage - kGapBytes);
  EXPECT_EQ(find_code_gap(::getpid(), objects_with(code + kPage - kGapBytes)), code + kPage - kGapBytes);
  EXPECT_EQ(find_code_gap(::getpid(), objects_with(code + kPage - kGapBytes + 1)), std::nullopt);
  const std::uint64_t shared = map(PROT_READ | PROT_EXEC, MAP_SHARED);
  const std::uint64_t writable = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE);
  const std::uint64_t data = map(PROT_READ, MAP_PRIVATE);
  for (const std::uint64_t other : {shared, writable, data})
    EXPECT_EQ(find_code_gap(::getpid(), objects_with(other + kCode)), std::nullopt);
  for (const std::uint64_t page : {code, shared, writable, data}) ::munmap(reinterpret_cast<void*>(page), kPage);
  EXPECT_EQ(find_code_gap(::getpid(), objects_with(code + kCode)), std::nullopt);
}

TEST(CodeGap, ObjectsWithoutAPlaceHaveNone) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t code_end : {std::uint64_t{0}, std::uint64_t{1}, kMost, kMost - kPage, kMost - 2 * kPage + 2})
    EXPECT_EQ(find_code_gap(::getpid(), objects_with(code_end)), std::nullopt) << code_end;
  EXPECT_EQ(find_code_gap(-1, objects_with(100)), std::nullopt);
}

TEST(FreeRange, CanBeMapped) {
  constexpr std::uint64_t kBytes = 576 << 10;
  const std::uint64_t at = find_free_range(::getpid(), kBytes);
  ASSERT_NE(at, 0u);
  EXPECT_EQ(at % kPage, 0u);
  // Not by mmap(): a sanitizer's function refuses addresses.
  const long mapped =
      ::syscall(SYS_mmap, at, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(static_cast<std::uint64_t>(mapped), at);
  ::syscall(SYS_munmap, at, kBytes);
}

TEST(FreeRange, IsNoneWhereAllIsTooSmall) { EXPECT_EQ(find_free_range(::getpid(), std::uint64_t{1} << 47), 0u); }

}  // namespace
}  // namespace tare::core
