// Packed files come back whole; cut-off and damaged ones give what precedes the fault, then an error.
#include "core/imports/zstd_file.h"

#include <gtest/gtest.h>

#include <string>

#include "support/temp_dir.h"
#include "support/trace_samples.h"

namespace tare::core {
namespace {

std::vector<std::uint8_t> packed(const std::string& text) {
  std::vector<std::uint8_t> bytes(ZSTD_compressBound(text.size()));
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 1));
  return bytes;
}

std::string random_text(std::size_t size) {
  std::string text;
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>((state = state * 6364136223846793005 + 1) >> 56);
  return text;
}

struct Outcome {
  std::string text;
  std::string error;
};

Outcome read_all(const std::string& path) {
  auto file = ZstdFile::open(path);
  if (!file) return {{}, file.error().message};
  Outcome outcome;
  while (true) {
    const auto piece = (*file)->read();
    if (!piece) {
      outcome.error = piece.error().message;
      return outcome;
    }
    if (piece->empty()) return outcome;
    outcome.text += *piece;
  }
}

TEST(ZstdFileTest, SeveralFramesAreOneText) {
  test::TempDir dir;
  const std::string text = random_text(3 << 20);
  std::vector<std::uint8_t> bytes = packed(text);
  const std::vector<std::uint8_t> second = packed("and more");
  bytes.insert(bytes.end(), second.begin(), second.end());
  test::write_file(dir / "file", bytes);
  const Outcome outcome = read_all(dir / "file");
  EXPECT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.text == text + "and more");
}

TEST(ZstdFileTest, ACutOffFrameGivesItsBegin) {
  test::TempDir dir;
  const std::string text = random_text(3 << 20);
  std::vector<std::uint8_t> bytes = packed(text);
  bytes.resize(bytes.size() - 100'000);
  test::write_file(dir / "file", bytes);
  const Outcome outcome = read_all(dir / "file");
  EXPECT_NE(outcome.error.find("cut off"), std::string::npos);
  EXPECT_GT(outcome.text.size(), std::size_t{2} << 20);
  EXPECT_TRUE(text.starts_with(outcome.text));
}

TEST(ZstdFileTest, OtherBytesAreDamage) {
  test::TempDir dir;
  test::write_file(dir / "file", {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_NE(read_all(dir / "file").error.find("is damaged"), std::string::npos);
  EXPECT_NE(read_all(dir / "missing").error.find("cannot read"), std::string::npos);
}

}  // namespace
}  // namespace tare::core
