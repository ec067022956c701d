#include "core/snapshot/content.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tare::core {
namespace {

using trace::BlockContent;

Content content_of(std::string_view bytes) {
  Content content(bytes.size());
  content.add({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return content;
}

TEST(Content, KnowsTextZerosAndOthers) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(content_of("hello, world\n"sv).kind(), BlockContent::Text);
  EXPECT_EQ(content_of("hello\0\0\0"sv).kind(), BlockContent::Text);
  EXPECT_EQ(content_of("gr\xc3\xbc\xc3\x9f\xe2\x82\xac\xf0\x9f\x90\x98"sv).kind(), BlockContent::Text);
  EXPECT_EQ(content_of("\0\0\0\0"sv).kind(), BlockContent::Zeros);
  EXPECT_EQ(content_of("hello\0x"sv).kind(), BlockContent::Other);  // something follows the end
  EXPECT_EQ(content_of("a\x01z"sv).kind(), BlockContent::Other);
  EXPECT_EQ(content_of("half\xe2\x82"sv).kind(), BlockContent::Other);  // a character that isn't whole
  EXPECT_EQ(content_of("\xff\xfe"sv).kind(), BlockContent::Other);
}

TEST(Content, DigestIsOfBytesAndLength) {
  EXPECT_EQ(content_of("same").digest(), content_of("same").digest());
  EXPECT_NE(content_of("same").digest(), content_of("sane").digest());
  EXPECT_NE(content_of(std::string(8, '\0')).digest(), content_of(std::string(16, '\0')).digest());
}

TEST(Content, PiecesMakeAWhole) {
  std::string text(Content::kPieceBytes + 100, 'x');
  text.replace(Content::kPieceBytes - 1, 2, "\xc3\xbc");  // a character over the edge
  const auto bytes = [&](std::size_t from, std::size_t count) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()) + from, count);
  };
  Content a(text.size());
  a.add(bytes(0, Content::kPieceBytes));
  a.add(bytes(Content::kPieceBytes, 100));
  EXPECT_EQ(a.kind(), BlockContent::Text);
  text.back() = 'y';
  Content b(text.size());
  b.add(bytes(0, Content::kPieceBytes));
  b.add(bytes(Content::kPieceBytes, 100));
  EXPECT_NE(a.digest(), b.digest());
}

}  // namespace
}  // namespace tare::core
