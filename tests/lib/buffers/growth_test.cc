// Growth policies on the models of allocators: what the final arrays take and what was allocated on the way.
#include "tare/growth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tare/size_classes.h"

namespace tare {
namespace {

struct Costs {
  double final_ratio = 0;       // slot of the final block by what is used of it
  double cumulative_ratio = 0;  // slots of all blocks by what is used in the end
};

// Means over final sizes log-uniform from 16 bytes to 64 KiB, each reached by 16 bytes at a time and a rest.
template <typename Growth>
Costs costs(const SizeModel& model) {
  constexpr int kSteps = 4000;
  const auto good = [&](std::size_t bytes) { return good_size(model, bytes); };
  Costs sum;
  for (int i = 0; i < kSteps; ++i) {
    const double doublings = 4 + 12 * (i + 0.5) / kSteps;
    const auto used = static_cast<std::size_t>(std::exp2(doublings));
    std::size_t capacity = 0;
    std::size_t slots = 0;
    for (std::size_t size = 0; size != used;) {
      size = std::min(size + 16, used);
      if (size <= capacity) continue;
      capacity = Growth::next_bytes(capacity, size, good);
      slots += size_class(model, capacity).slot_bytes;
    }
    sum.final_ratio += static_cast<double>(size_class(model, capacity).slot_bytes) / static_cast<double>(used) / kSteps;
    sum.cumulative_ratio += static_cast<double>(slots) / static_cast<double>(used) / kSteps;
  }
  return sum;
}

class GrowthOn : public ::testing::TestWithParam<SizeModel> {};

TEST_P(GrowthOn, KeepsLittleAndAllocatesLittle) {
  const Costs by_class = costs<GrowByClass>(GetParam());
  EXPECT_LE(by_class.final_ratio, 1.33);
  EXPECT_LE(by_class.cumulative_ratio, 3.4);
  const Costs doubling = costs<GrowByDoubling>(GetParam());
  EXPECT_GT(doubling.final_ratio, by_class.final_ratio);
  EXPECT_LT(doubling.cumulative_ratio, by_class.cumulative_ratio);
  EXPECT_LE(doubling.final_ratio, 1.52);
  EXPECT_LE(doubling.cumulative_ratio, 2.8);
}

INSTANTIATE_TEST_SUITE_P(Models, GrowthOn,
                         ::testing::Values(size_models::glibc, size_models::jemalloc, size_models::mimalloc2,
                                           size_models::mozjemalloc),
                         [](const auto& model) { return std::string(model.param.name); });

}  // namespace
}  // namespace tare
