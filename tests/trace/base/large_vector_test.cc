// Large vectors grow where they lie, and go on where address space is short.
#include "trace/base/large_vector.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>

#include "lib/support/in_child.h"
#include "lib/support/sanitized.h"

namespace tare::trace {
namespace {

constexpr std::size_t kMany = 3'000'000;  // of 8 bytes: past several doublings

bool holds_what_was_put_in() {
  LargeVector<std::uint64_t> vector;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    make_room(vector, vector.size() + 1);
    vector.push_back(i * 3);
  }
  for (std::uint64_t i = 0; i < kMany; ++i) {
    if (vector[i] != i * 3) return false;
  }
  return true;
}

TEST(LargeVector, StaysWhereItLiesOnceItIsLarge) {
  LargeVector<std::uint64_t> vector;
  const std::uint64_t* at = nullptr;
  int moves = 0;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    make_room(vector, vector.size() + 1);
    vector.push_back(i);
    if (vector.size() * sizeof(i) >= 2 * kHugePageBytes && vector.data() != at) {
      at = vector.data();
      ++moves;
    }
  }
  EXPECT_EQ(moves, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % kHugePageBytes, 0u);
}

TEST(LargeVector, HoldsWhatWasPutIn) { EXPECT_TRUE(holds_what_was_put_in()); }

TEST(LargeVector, MakesDoWithLittleAddressSpace) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more address space than the limit leaves";
  const auto within_limit = [] {
    const rlimit limit{.rlim_cur = std::size_t{120} << 20, .rlim_max = std::size_t{120} << 20};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    return holds_what_was_put_in() ? 0 : 1;
  };
  EXPECT_EQ(tare::testing::in_child(within_limit), 0);
}

}  // namespace
}  // namespace tare::trace
