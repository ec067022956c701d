// The cache of pointed types returns them whole, or returns nothing.
#include "core/allocated_types/pointed_cache.h"

#include <gtest/gtest.h>

namespace tare::core {
namespace {

PointedByAddress sample() {
  PointedByAddress pointed;
  for (std::uint64_t at = 0x1000; at < 0x1400; at += 37) {
    std::vector<PointedType>& types = pointed[at];
    for (std::uint64_t i = 0; i < at % 4; ++i)
      types.push_back({static_cast<std::uint32_t>(i), "Type<" + std::to_string(at) + ">", at * i, 7});
  }
  return pointed;
}

TEST(PointedCache, ComesBack) {
  EXPECT_EQ(decode_pointed("files", encode_pointed("files", sample())), sample());
  EXPECT_EQ(decode_pointed("", encode_pointed("", {})), PointedByAddress());
}

TEST(PointedCache, OfOtherFilesOrDamagedIsNone) {
  const std::string good = encode_pointed("files", sample());
  EXPECT_FALSE(decode_pointed("other files", good));
  for (std::size_t at = 0; at < good.size(); ++at) {
    EXPECT_FALSE(decode_pointed("files", good.substr(0, at))) << at;
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    EXPECT_FALSE(decode_pointed("files", bad)) << at;
  }
}

}  // namespace
}  // namespace tare::core
