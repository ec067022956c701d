// Streams over the caller's memory: never past its end, never a broken character, and never silent.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tare/text_stream.h"

namespace tare {
namespace {

static_assert(sizeof(FixedTextStream) <= 40);

TEST(FixedTextStream, SaysThatItTruncated) {
  std::array<char, 10> memory{};
  memory.fill('#');
  FixedTextStream out(memory.data(), 8);
  EXPECT_EQ(memory[0], '\0') << "an empty string from the start";
  EXPECT_TRUE(out.append("1234567"));
  EXPECT_TRUE(out.ok());
  EXPECT_FALSE(out.append("89"));
  EXPECT_EQ(out.loss(), TextLoss::Truncated);
  EXPECT_EQ(out.lost_bytes(), 2U);
  EXPECT_FALSE(out.append("more"));
  EXPECT_EQ(out.lost_bytes(), 6U);
  EXPECT_STREQ(out.c_str(), "1234567");
  EXPECT_EQ(memory[8], '#');
  out.reset();
  EXPECT_TRUE(out.ok());
  EXPECT_EQ(out.lost_bytes(), 0U);
  EXPECT_STREQ(out.c_str(), "");
}

TEST(FixedTextStream, TerminatesTheBufferItLeaves) {
  char line[16];
  {
    FixedTextStream out(line);
    out << "abc" << 1234;
  }
  EXPECT_STREQ(line, "abc1234");
}

TEST(FixedTextStream, LivesWithoutMemory) {
  FixedTextStream out(nullptr, 0);
  EXPECT_FALSE(out.append('x'));
  EXPECT_STREQ(out.c_str(), "");
  EXPECT_EQ(out.lost_bytes(), 1U);
  char one = 'x';
  FixedTextStream zero(&one, 1);
  EXPECT_FALSE(zero.print("%d", 12));
  EXPECT_STREQ(zero.c_str(), "");
  EXPECT_EQ(zero.lost_bytes(), 2U);
  EXPECT_EQ(zero.c_str(), &one);
}

// Whether `text` ends with the beginning of a character.
bool ends_cut(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return false;
    if (byte >= 0xC0) return back < (byte >= 0xF0 ? 4U : byte >= 0xE0 ? 3U : 2U);
  }
  return false;
}

TEST(FixedTextStream, CutsBetweenCharacters) {
  const std::string text = "a\u00e4\u20ac\U0001F600z\u00df\u20ac\U0001F600";
  for (std::size_t bytes = 1; bytes <= text.size() + 2; ++bytes) {
    std::vector<std::string> results;
    for (int way = 0; way < 3; ++way) {
      std::vector<char> memory(bytes);
      FixedTextStream out(memory.data(), bytes);
      switch (way) {
        case 0:
          out.append(text);
          break;
        case 1:
          out.print("%s", text.c_str());
          break;
        default:
          for (char byte : text) out.append(byte);
      }
      EXPECT_FALSE(ends_cut(out.view())) << bytes;
      EXPECT_EQ(text.substr(0, out.size()), out.view());
      EXPECT_EQ(out.size() + out.lost_bytes(), text.size()) << bytes << " way " << way;
      EXPECT_EQ(out.ok(), bytes > text.size());
      EXPECT_GE(out.size() + 4, std::min(bytes, text.size() + 1)) << "no more than a character is cut";
      results.emplace_back(out.c_str());
    }
    EXPECT_EQ(results[0], results[1]) << bytes;
    EXPECT_EQ(results[0], results[2]) << bytes;
  }
}

TEST(FixedTextStream, IsAPrefixOfWhatWasWritten) {
  std::minstd_rand random(11);
  for (int round = 0; round < 5000; ++round) {
    const std::size_t bytes = random() % 60;
    std::vector<char> memory(bytes + 1, '#');
    FixedTextStream out(memory.data(), bytes);
    std::string all;
    bool taken = true;
    for (int step = 0; step < 8; ++step) {
      const std::string piece(random() % 20, static_cast<char>('a' + random() % 26));
      const auto number = static_cast<int>(random());
      switch (random() % 4) {
        case 0:
          taken &= out.append(piece), all += piece;
          break;
        case 1:
          taken &= out.append_number(number), all += std::to_string(number);
          break;
        case 2:
          taken &= out.print("%d", number), all += std::to_string(number);
          break;
        default:
          taken &= out.append(piece.size(), '-'), all += std::string(piece.size(), '-');
      }
    }
    ASSERT_EQ(out.ok(), taken);
    ASSERT_EQ(out.ok(), all.size() < bytes || all.empty());
    ASSERT_EQ(out.view(), all.substr(0, bytes == 0 ? 0 : bytes - 1));
    ASSERT_EQ(out.size() + out.lost_bytes(), all.size());
    ASSERT_EQ(memory[bytes], '#');
  }
}

TEST(FixedTextStream, FrozenMemoryStays) {
  char line[8];
  FixedTextStream out(line);
  out << "abc";
  out.freeze();
  EXPECT_FALSE(out.append('d'));
  EXPECT_EQ(out.loss(), TextLoss::WrittenWhenFrozen);
  EXPECT_STREQ(line, "abc");
}

}  // namespace
}  // namespace tare
