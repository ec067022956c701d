// A cage under limits: each test runs in a child process that takes the limit upon itself.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "lib/support/in_child.h"
#include "lib/support/sanitized.h"
#include "tare/cage.h"

namespace tare {
namespace {

constexpr std::size_t kLimitsMiB = std::size_t{1} << 20;
constexpr std::size_t kLimitsGiB = std::size_t{1} << 30;

using testing::in_child;

bool limit(int resource, std::size_t bytes) {
  const rlimit value{bytes, bytes};
  return setrlimit(static_cast<__rlimit_resource>(resource), &value) == 0;
}

TEST(CageLimits, FallsBackUnderAnAddressLimit) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  for (const std::size_t address_limit : {kLimitsGiB, 4 * kLimitsGiB, 10 * kLimitsGiB}) {
    const int wrong = in_child([&] {
      if (!limit(RLIMIT_AS, address_limit)) return 1;
      CageResult<Cage> made = Cage::reserve();
      if (!made) return 2;
      Cage& cage = made.value();
      if (cage.size_bytes() > address_limit / 2) return 3;  // the rest is the program's
      if (cage.size_bytes() < address_limit / 4) return 4;
      if (cage.use().wanted_bytes != 32 * kLimitsGiB) return 5;
      const CageResult<PageRun> run = cage.allocate(kLimitsMiB);
      if (!run) return 6;
      std::memset(run.value().data, 1, kLimitsMiB);
      return 0;
    });
    EXPECT_EQ(wrong, 0) << "limit " << address_limit;
  }
}

TEST(CageLimits, AlignmentCostsNoAddresses) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  // Reserving twice or thrice as much to find an aligned spot would not fit into 5 GiB.
  const int wrong = in_child([] {
    if (!limit(RLIMIT_AS, 5 * kLimitsGiB)) return 1;
    const CageResult<Cage> made = Cage::reserve({.size_bytes = 4 * kLimitsGiB,
                                                 .least_bytes = 4 * kLimitsGiB,
                                                 .alignment_bytes = 8 * kLimitsGiB,
                                                 .alignment_phase_bytes = 4 * kLimitsGiB});
    if (!made) return 2;
    return (reinterpret_cast<std::uintptr_t>(made.value().base()) >> 32 & 1) == 1 ? 0 : 3;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(CageLimits, LessThanTheLeastIsAnError) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const int wrong = in_child([] {
    if (!limit(RLIMIT_AS, kLimitsGiB)) return 1;
    const CageResult<Cage> made = Cage::reserve({.least_bytes = 2 * kLimitsGiB});
    if (made) return 2;
    return made.error() == CageError::NoAddressSpace ? 0 : 3;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(CageLimits, RefusedMemoryIsAnErrorAndTheCageGoesOn) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more data than the limit";
  const int wrong = in_child([] {
    CageResult<Cage> made = Cage::reserve({.size_bytes = 512 * kLimitsMiB});
    if (!made) return 1;
    if (!limit(RLIMIT_DATA, 128 * kLimitsMiB)) return 2;  // counts what is private and writable
    const CageResult<PageRun> large = made.value().allocate(256 * kLimitsMiB);
    if (large || large.error() != CageError::NoMemory) return 3;
    const CageResult<PageRun> small = made.value().allocate(kLimitsMiB);
    if (!small) return 4;
    small.value().data[0] = std::byte{1};
    return made.value().use().used_bytes == kLimitsMiB ? 0 : 5;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(CageLimits, SurvivesAForkBetweenUses) {
  Cage cage = std::move(Cage::reserve({.size_bytes = 64 * kLimitsMiB}).value());
  const PageRun run = cage.allocate(kLimitsMiB).value();
  std::memset(run.data, 7, run.size_bytes);
  const int wrong = in_child([&] {
    if (run.data[100] != std::byte{7}) return 1;
    std::memset(run.data, 8, run.size_bytes);
    cage.free(run);
    return cage.allocate(kLimitsMiB) ? 0 : 2;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(run.data[100], std::byte{7}) << "the child has pages of its own";
}

TEST(CageResultDeath, TheValueOfAnErrorEndsTheProgram) {
  CageResult<Cage> failed = Cage::reserve({.size_bytes = 12345});
  ASSERT_EQ(failed.error(), CageError::BadOptions);
  EXPECT_DEATH(failed.value(), "of a result that has none: the cage's sizes, alignments or guard");
}

}  // namespace
}  // namespace tare
