// Ranges by calls, and what each stack mapped and unmapped.
#include "core/mappings/mappings.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

constexpr auto kStack = static_cast<trace::StackId>(7);
constexpr auto kOther = static_cast<trace::StackId>(8);

TEST(Mappings, SumUpWhatAStackMappedAndUnmapped) {
  Mappings mappings;
  mappings.map(0x10000, 0x4000, kStack, 100);
  mappings.map(0x20000, 0x2000, kStack, 110);
  mappings.unmap(0x11000, 0x1000, 150);  // in the middle
  mappings.unmap(0x20000, 0x2000, 160);
  const Mappings::Sums& sums = mappings.sums().at(7);
  EXPECT_EQ(sums.maps, 2u);
  EXPECT_EQ(sums.mapped_bytes, 0x6000u);
  EXPECT_EQ(sums.unmapped_bytes, 0x3000u);
  EXPECT_EQ(sums.unmapped_byte_ticks, 50.0 * 0x1000 + 50.0 * 0x2000);
  EXPECT_EQ(sums.bytes, 0x3000u);
  EXPECT_EQ(sums.peak_bytes, 0x6000u);
  EXPECT_EQ(mappings.ranges().size(), 2u);
  EXPECT_EQ(mappings.bytes(), 0x3000u);
}

TEST(Mappings, AMappingOverAMappingTakesItsPlace) {
  Mappings mappings;
  mappings.map(0x10000, 0x4000, kStack, 1);
  mappings.map(0x12000, 0x4000, kOther, 2);
  EXPECT_EQ(mappings.sums().at(7).bytes, 0x2000u);
  EXPECT_EQ(mappings.sums().at(7).unmapped_bytes, 0u);  // nobody unmapped it
  EXPECT_EQ(mappings.sums().at(8).bytes, 0x4000u);
  EXPECT_EQ(mappings.bytes(), 0x6000u);
  EXPECT_EQ(mappings.ranges().at(0x10000).end, 0x12000u);
}

TEST(Mappings, EndsAtTheEndOfTheAddressSpace) {
  Mappings mappings;
  mappings.map(~std::uint64_t{0} - 0xfff, 0x5000, kStack, 1);
  EXPECT_EQ(mappings.bytes(), 0xfffu);
  mappings.unmap(0x5000, 0, 2);
  EXPECT_EQ(mappings.bytes(), 0xfffu);
}

}  // namespace
}  // namespace tare::core
