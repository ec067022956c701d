// Results beside std::expected's meanings.
#include "tare/expected.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tare {
namespace {

enum class Fault { None, Broken };
const char* describe(Fault fault) { return fault == Fault::None ? "nothing is wrong" : "it is broken"; }

using Text = Expected<std::string, Fault>;

Text text_or_not(bool is_good) {
  if (!is_good) return Fault::Broken;
  return std::string("text");
}

TEST(Expected, HasAValueOrAnError) {
  Text good = text_or_not(true);
  ASSERT_TRUE(good && good.has_value());
  EXPECT_EQ(*good, "text");
  EXPECT_EQ(good->size(), 4u);
  EXPECT_EQ(good.error(), Fault::None);
  EXPECT_EQ(std::move(good).value_or("other"), "text");
  const Text bad = text_or_not(false);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error(), Fault::Broken);
  EXPECT_EQ(text_or_not(false).value_or("other"), "other");
}

TEST(Expected, MovesItsValueOut) {
  Expected<std::unique_ptr<int>, Fault> made = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 7);
}

TEST(Expected, EndsTheProgramWhereItHasNone) {
  EXPECT_DEATH(static_cast<void>(text_or_not(false).value()), "value\\(\\) of a result that has none: it is broken");
  EXPECT_DEATH(static_cast<void>(text_or_not(false)->size()), "it is broken");
}

}  // namespace
}  // namespace tare
