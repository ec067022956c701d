// A series of fixed length: however long the performance, samples cover it evenly.
#include "allocator_replay/perform/rss_series.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(RssSeries, ThinsItselfOut) {
  perform::RssSeries series;
  constexpr std::uint64_t kEnd = 100'000'000'000;
  for (std::uint64_t ns = 0; ns < kEnd; ns += 500'000) {
    if (series.is_due(ns)) series.add({ns, ns / 1000, ns});
  }
  ASSERT_GT(series.size(), 100u);
  ASSERT_LE(series.size(), 256u);
  EXPECT_EQ(series[0].ns, 0u);
  EXPECT_GT(series[series.size() - 1].ns, kEnd * 9 / 10);
  for (std::size_t i = 1; i < series.size(); ++i) {
    EXPECT_GT(series[i].ns, series[i - 1].ns);
    EXPECT_LT(series[i].ns - series[i - 1].ns, kEnd / 50);
  }
}

}  // namespace
}  // namespace tare::test
