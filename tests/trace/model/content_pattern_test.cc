// How far a block was written, and what its bytes are called.
#include "trace/model/content_pattern.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "trace/model/content_digest.h"

namespace tare::trace {
namespace {

using Bytes = std::vector<std::uint8_t>;

// The expected result of high_water(), byte by byte.
std::uint64_t slow_high_water(const Bytes& bytes, ContentOrigin origin) {
  std::uint64_t mark = 0;
  for (std::uint64_t i = 0; i < bytes.size(); ++i) {
    const bool unwritten = bytes[i] == kFillByte || (origin == ContentOrigin::Zeroed && bytes[i] == 0);
    if (!unwritten) mark = i + 1;
  }
  return mark;
}

TEST(HighWater, IsThatOfTheLastWrittenByteForEverySizeAndPlace) {
  for (const std::uint8_t last : {std::uint8_t{1}, std::uint8_t{0}, std::uint8_t{0xda}}) {
    for (std::size_t size = 0; size <= 200; ++size) {
      for (std::size_t written = 0; written <= size; ++written) {
        Bytes bytes(size, kFillByte);
        if (written > 0) bytes[written - 1] = last;
        const Bytes filled = bytes;
        ASSERT_EQ(high_water(filled, ContentOrigin::Filled), written) << size;
        // Half of what nobody wrote is zero, as where untouched pages follow filled ones.
        for (std::size_t i = written; i < size; ++i) bytes[i] = i % 2 == 0 ? 0 : kFillByte;
        ASSERT_EQ(high_water(bytes, ContentOrigin::Zeroed), slow_high_water(bytes, ContentOrigin::Zeroed)) << size;
        ASSERT_EQ(high_water(bytes, ContentOrigin::Filled), slow_high_water(bytes, ContentOrigin::Filled)) << size;
        ASSERT_EQ(high_water(bytes, ContentOrigin::Unknown), size);
      }
    }
  }
}

TEST(HighWater, TakesZerosForUnwrittenOnlyWhereTheyWereThereBefore) {
  const Bytes zeros(1000, 0);
  EXPECT_EQ(high_water(zeros, ContentOrigin::Filled), 1000u);
  EXPECT_EQ(high_water(zeros, ContentOrigin::Zeroed), 0u);
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(ContentDigest, DiffersForEveryChangedByteAndLength) {
  std::set<std::uint64_t> seen;
  std::size_t made = 0;
  for (std::size_t size = 0; size <= 70; ++size) {
    Bytes bytes(size, 7);
    const auto add = [&] {
      const std::uint64_t digest = content_digest(bytes);
      EXPECT_EQ(digest, content_digest(Bytes(bytes)));
      EXPECT_NE(digest, 0u);
      EXPECT_EQ(digest & ~kDigestMask, 0u);
      seen.insert(digest);
      ++made;
    };
    add();
    for (std::size_t i = 0; i < size; ++i) {
      for (const std::uint8_t change : {std::uint8_t{1}, std::uint8_t{0x80}}) {
        bytes[i] ^= change;
        add();
        bytes[i] ^= change;
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

TEST(ContentClass, IsReadOffTheFirstBytes) {
  const auto class_of = [](std::string_view text) { return content_class(bytes_of(text)); };
  EXPECT_EQ(content_class({}), ContentClass::None);
  EXPECT_EQ(class_of("hello"), ContentClass::Text);
  // NOLINTNEXTLINE(bugprone-string-constructor): with its terminator
  EXPECT_EQ(class_of({"hello", 6}), ContentClass::Text);
  EXPECT_EQ(class_of("a\tb\n"), ContentClass::Text);
  EXPECT_EQ(class_of("gr\xc3\xbc\xc3\x9f"), ContentClass::Text);
  EXPECT_EQ(class_of("gr\xfc\xdf, long enough"), ContentClass::Other);  // Latin 1
  EXPECT_EQ(class_of({"a name and then some\0\1\2", 23}), ContentClass::Text);
  EXPECT_EQ(class_of({"\x20\x31\x7b\x5a\x55\x55\0\0\1\1", 10}), ContentClass::Other);  // a pointer, and more
  EXPECT_EQ(class_of({"d\0\0\0\0\0\0\0", 8}), ContentClass::Other);                    // 100
  EXPECT_EQ(class_of("ab"), ContentClass::Other);
  EXPECT_EQ(class_of("\x7f\x45LF and what follows"), ContentClass::Other);
  EXPECT_EQ(content_class(Bytes(5000, 0)), ContentClass::Zeros);
  Bytes late(5000, 0);
  late.back() = 1;
  EXPECT_EQ(content_class(late), ContentClass::Other);
  Bytes text(100, 'x');
  text[90] = 1;
  EXPECT_EQ(content_class(text), ContentClass::Text);
}

}  // namespace
}  // namespace tare::trace
