// Addresses, runs and misuse of a cage.
#include "tare/cage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "lib/support/sanitized.h"

namespace tare {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

Cage cage_of(const CageOptions& options) {
  CageResult<Cage> made = Cage::reserve(options);
  EXPECT_TRUE(made) << describe(made.error());
  return std::move(made.value());
}

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

TEST(Cage, ReservesWhatIsAskedFor) {
  const Cage cage = cage_of({.size_bytes = 4 * kGiB});
  EXPECT_NE(cage.base(), nullptr);
  EXPECT_EQ(cage.size_bytes(), 4 * kGiB);
  EXPECT_EQ(cage.guard_bytes(), cage.page_bytes());
  const CageUse use = cage.use();
  EXPECT_EQ(use.wanted_bytes, 4 * kGiB);
  EXPECT_EQ(use.reserved_bytes, 4 * kGiB);
  EXPECT_EQ(use.committed_bytes, 0u);
  EXPECT_EQ(use.used_bytes, 0u);
  EXPECT_EQ(use.largest_free_bytes, 4 * kGiB - cage.page_bytes());
}

TEST(Cage, BaseIsAligned) {
  for (const std::size_t alignment : {2 * kMiB, kGiB, 4 * kGiB, 32 * kGiB, 1024 * kGiB}) {
    const Cage cage = cage_of({.size_bytes = 64 * kMiB, .alignment_bytes = alignment});
    EXPECT_EQ(address(cage.base()) % alignment, 0u) << alignment;
  }
}

TEST(Cage, APhaseSetsTheBitAboveWithoutReservingTheOtherHalf) {
  const Cage cage = cage_of({.size_bytes = 4 * kGiB,
                             .least_bytes = 4 * kGiB,
                             .alignment_bytes = 8 * kGiB,
                             .alignment_phase_bytes = 4 * kGiB});
  EXPECT_EQ(address(cage.base()) % (8 * kGiB), 4 * kGiB);
  EXPECT_EQ(address(cage.base() + cage.size_bytes() - 1) >> 32 & 1, 1u);
  EXPECT_EQ(cage.use().reserved_bytes, 4 * kGiB);
}

TEST(Cage, AGuardOfHalfTheCageIsNeverHandedOut) {
  Cage cage = cage_of({.size_bytes = 8 * kGiB, .alignment_bytes = 8 * kGiB, .guard_bytes = 4 * kGiB});
  const CageResult<PageRun> run = cage.allocate(cage.page_bytes());
  ASSERT_TRUE(run);
  EXPECT_EQ(run.value().data, cage.base() + 4 * kGiB);
  EXPECT_EQ(address(run.value().data) >> 32 & 1, 1u);
  EXPECT_EQ(cage.allocate(4 * kGiB).error(), CageError::Exhausted);
}

TEST(Cage, AFixedBaseIsExactOrAnError) {
  Cage anywhere = cage_of({.size_bytes = 64 * kMiB});
  const std::uintptr_t fixed = address(anywhere.base());
  EXPECT_EQ(Cage::reserve({.size_bytes = 64 * kMiB, .fixed_base = fixed}).error(), CageError::AddressTaken);
  {
    const Cage gone = std::move(anywhere);
  }
  const Cage cage = cage_of({.size_bytes = 64 * kMiB, .fixed_base = fixed});
  EXPECT_EQ(address(cage.base()), fixed);
}

TEST(Cage, RefusesOptionsThatContradictEachOther) {
  const CageOptions bad[] = {
      {.size_bytes = 5000},
      {.size_bytes = kMiB, .alignment_bytes = 3 * 4096},
      {.size_bytes = kMiB, .alignment_bytes = kMiB, .alignment_phase_bytes = kMiB},
      {.size_bytes = kMiB, .alignment_bytes = kMiB, .alignment_phase_bytes = 100},
      {.size_bytes = kMiB, .fixed_base = 4097},
      {.size_bytes = kMiB, .guard_bytes = kMiB},
      {.size_bytes = kMiB, .guard_bytes = 100},
      {.size_bytes = kMiB, .page_bytes = 1024},
      {.size_bytes = kMiB, .page_bytes = 12288},
      {.size_bytes = std::size_t{1} << 62},
  };
  for (const CageOptions& options : bad) {
    EXPECT_EQ(Cage::reserve(options).error(), CageError::BadOptions) << options.size_bytes;
  }
}

TEST(Cage, WhatIsntThereIsAnError) {
  EXPECT_EQ(Cage::reserve({.size_bytes = std::size_t{1} << 41, .least_bytes = std::size_t{1} << 41, .page_bytes = 4096})
                    .error() == CageError::BadOptions,
            false);
  // More than 47 bits of addresses: falls back to what there is.
  const CageResult<Cage> made =
      Cage::reserve({.size_bytes = std::size_t{1} << 49, .least_bytes = kGiB, .page_bytes = 2 * kMiB});
  ASSERT_TRUE(made);
  EXPECT_LT(made.value().size_bytes(), std::size_t{1} << 48);
  EXPECT_EQ(made.value().use().wanted_bytes, std::size_t{1} << 49);
  EXPECT_EQ(
      Cage::reserve({.size_bytes = std::size_t{1} << 49, .least_bytes = std::size_t{1} << 48, .page_bytes = 2 * kMiB})
          .error(),
      CageError::NoAddressSpace);
}

TEST(Cage, EveryErrorHasItsWords) {
  EXPECT_STRNE(describe(CageError::Exhausted), describe(CageError::NoMemory));
  EXPECT_STREQ(describe(static_cast<CageError>(99)), "unknown error");
}

TEST(Cage, RunsAreWritableZeroAndAligned) {
  Cage cage = cage_of({.size_bytes = 256 * kMiB});
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{64}, 64 * 1024ul, 2 * kMiB, 32 * kMiB}) {
    const CageResult<PageRun> run = cage.allocate(10'000, alignment);
    ASSERT_TRUE(run) << alignment;
    EXPECT_EQ(run.value().size_bytes, 12'288u);
    EXPECT_EQ(address(run.value().data) % std::max<std::size_t>(alignment, 4096), 0u);
    EXPECT_EQ(run.value().contents, PageRun::Contents::Zero);
    EXPECT_TRUE(std::all_of(run.value().data, run.value().data + run.value().size_bytes,
                            [](std::byte b) { return b == std::byte{0}; }));
    std::memset(run.value().data, 0xab, run.value().size_bytes);
  }
  EXPECT_EQ(cage.allocate(4096, 3000).error(), CageError::BadOptions) << "not a power of two";
  EXPECT_EQ(cage.allocate(4096, std::size_t{1} << 50).error(), CageError::Exhausted);
}

TEST(Cage, LargerPagesAreTheUnit) {
  Cage cage = cage_of({.size_bytes = 64 * kMiB, .page_bytes = 128 * 1024});
  const CageResult<PageRun> run = cage.allocate(1);
  ASSERT_TRUE(run);
  EXPECT_EQ(run.value().size_bytes, 128u * 1024);
  EXPECT_EQ(address(run.value().data) % (128 * 1024), 0u);
}

TEST(Cage, ContainsItsOwnAddressesOnly) {
  Cage cage = cage_of({.size_bytes = 64 * kMiB});
  EXPECT_TRUE(cage.contains(cage.base()));
  EXPECT_TRUE(cage.contains(cage.base() + cage.size_bytes() - 1));
  EXPECT_FALSE(cage.contains(cage.base() + cage.size_bytes()));
  EXPECT_FALSE(cage.contains(cage.base() - 1));
  EXPECT_FALSE(cage.contains(nullptr));
  EXPECT_FALSE(Cage().contains(nullptr));
}

TEST(Cage, MovesKeepTheAddresses) {
  Cage cage = cage_of({.size_bytes = 64 * kMiB});
  const std::byte* base = cage.base();
  Cage moved = std::move(cage);
  EXPECT_EQ(moved.base(), base);
  Cage other = cage_of({.size_bytes = 64 * kMiB});
  other = std::move(moved);
  EXPECT_EQ(other.base(), base);
}

TEST(Cage, OneOfNoBytesIsExhausted) {
  Cage cage;
  EXPECT_EQ(cage.base(), nullptr);
  EXPECT_EQ(cage.allocate(1).error(), CageError::Exhausted);
  EXPECT_EQ(cage.trim(), 0u);
  EXPECT_EQ(cage.resident_bytes(), 0u);
  cage.free({});
}

TEST(Cage, ExhaustionIsAnErrorAndEnds) {
  Cage cage = cage_of({.size_bytes = 64 * kMiB});
  EXPECT_EQ(cage.allocate(0).error(), CageError::Exhausted);
  EXPECT_EQ(cage.allocate(64 * kMiB).error(), CageError::Exhausted) << "the guard isn't to be had";
  EXPECT_EQ(cage.allocate(~std::size_t{0}).error(), CageError::Exhausted);
  const CageResult<PageRun> all = cage.allocate(64 * kMiB - 4096);
  ASSERT_TRUE(all);
  EXPECT_EQ(cage.allocate(1).error(), CageError::Exhausted);
  EXPECT_EQ(cage.use().largest_free_bytes, 0u);
  cage.free(all.value());
  EXPECT_TRUE(cage.allocate(64 * kMiB - 4096));
}

// Random use against a map of live runs, each filled with a byte of its own.
TEST(Cage, RunsDontOverlapAndKeepTheirContents) {
  Cage cage = cage_of({.size_bytes = 16 * kMiB});
  struct Live {
    PageRun run;
    int mark;
  };
  std::map<std::uintptr_t, Live> live;
  std::mt19937 random(7);
  const auto check = [](const Live& one) {
    return std::all_of(one.run.data, one.run.data + one.run.size_bytes,
                       [&](std::byte b) { return b == static_cast<std::byte>(one.mark); });
  };
  std::size_t used = 0;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 100 < 55) {
      const CageResult<PageRun> got = cage.allocate(1 + random() % 200'000, std::size_t{1} << random() % 18);
      if (!got) {
        ASSERT_EQ(got.error(), CageError::Exhausted);
        continue;
      }
      const PageRun run = got.value();
      if (run.contents == PageRun::Contents::Zero) {
        ASSERT_TRUE(check({run, 0}));
      }
      const Live one{run, 1 + static_cast<int>(random() % 255)};
      std::memset(run.data, one.mark, run.size_bytes);
      ASSERT_TRUE(live.emplace(address(run.data), one).second);
      used += run.size_bytes;
    } else if (!live.empty()) {
      auto victim = live.lower_bound(address(cage.base()) + random() % cage.size_bytes());
      if (victim == live.end()) victim = live.begin();
      ASSERT_TRUE(check(victim->second));
      used -= victim->second.run.size_bytes;
      cage.free(victim->second.run, random() % 2 == 0 ? FreedPages::Return : FreedPages::Keep);
      live.erase(victim);
    }
    if (step % 500 == 0) cage.trim();
    ASSERT_EQ(cage.use().used_bytes, used);
  }
}

using CageDeath = ::testing::Test;

TEST(CageDeath, MisuseEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Cage cage = cage_of({.size_bytes = 64 * kMiB});
  const PageRun run = cage.allocate(8192).value();
  const PageRun next = cage.allocate(4096).value();
  EXPECT_DEATH(cage.free({run.data + 4096, 4096}), "isn't a run in use");
  EXPECT_DEATH(cage.free({run.data, 4096}), "isn't a run in use");
  EXPECT_DEATH(cage.free({run.data + 1, 8192}), "isn't a run in use");
  EXPECT_DEATH(cage.free({reinterpret_cast<std::byte*>(&cage), 4096}), "isn't in the cage");
  EXPECT_DEATH(cage.decommit(run.data + 8, 4096), "not pages of a run");
  EXPECT_DEATH(cage.discard(cage.base(), 4096), "not pages of a run");
  cage.free(run);
  EXPECT_DEATH(cage.free(run), "isn't a run in use");
  cage.free(next);
  EXPECT_DEATH(cage.free(next), "isn't a run in use");
}

TEST(CageDeath, GuardsAndDecommittedPagesFault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Cage cage = cage_of({.size_bytes = 64 * kMiB});
  EXPECT_DEATH(*cage.base() = std::byte{1}, "");
  const PageRun run = cage.allocate(3 * 4096).value();
  ASSERT_TRUE(cage.decommit(run.data + 4096, 4096));
  run.data[0] = std::byte{1};
  run.data[2 * 4096] = std::byte{1};
  EXPECT_DEATH(run.data[4096] = std::byte{1}, "");
}

TEST(CageDeath, TheAddressSanitizerSeesUseAfterFree) {
  if (!kAddressSanitized) GTEST_SKIP() << "needs the address sanitizer";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Cage cage = cage_of({.size_bytes = 64 * kMiB});
  const PageRun run = cage.allocate(8192).value();
  cage.free(run, FreedPages::Keep);
  EXPECT_DEATH(run.data[5000] = std::byte{1}, "use-after-poison");
  const PageRun again = cage.allocate(8192).value();
  ASSERT_EQ(again.data, run.data);
  again.data[5000] = std::byte{1};
}

}  // namespace
}  // namespace tare
