// XXH64 against the values of its specification.
#include "trace/base/checksum.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace tare::trace {
namespace {

std::uint64_t of(std::string_view text, std::uint64_t seed = 0) {
  return xxh64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, seed);
}

TEST(Checksum, KnownValues) {
  EXPECT_EQ(of(""), 0xef46db3751d8e999u);
  EXPECT_EQ(of("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(of("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(of("The quick brown fox jumps over the lazy dog"), 0x0b242d361fda71bcu);
}

TEST(Checksum, EveryByteAndTheSeedCount) {
  std::vector<std::uint8_t> bytes(101, 3);
  const std::uint64_t before = xxh64(bytes, 1);
  EXPECT_NE(before, xxh64(bytes, 2));
  for (std::uint8_t& byte : bytes) {
    byte ^= 0x40;
    EXPECT_NE(xxh64(bytes, 1), before);
    byte ^= 0x40;
  }
}

}  // namespace
}  // namespace tare::trace
