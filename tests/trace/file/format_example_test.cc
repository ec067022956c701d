// The worked example of FORMAT.md is, byte for byte, what the writer writes, and reads as the text says.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>

#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/file/expected_events.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

// Lines of "    OFFSET  HEX HEX ...  words".
std::vector<std::uint8_t> bytes_of_example() {
  std::ifstream text(TARE_SOURCE_DIR "/src/trace/file/FORMAT.md");
  std::vector<std::uint8_t> bytes;
  for (std::string line; std::getline(text, line);) {
    if (line.size() < 12 || line.compare(0, 4, "    ") != 0 || line.compare(8, 2, "  ") != 0) continue;
    char* end = nullptr;
    if (std::strtoul(line.c_str() + 4, &end, 16) != bytes.size() || end != line.c_str() + 8) continue;
    std::istringstream columns(line.substr(10, 47));
    for (std::string byte; columns >> byte;) bytes.push_back(static_cast<std::uint8_t>(std::stoul(byte, nullptr, 16)));
  }
  return bytes;
}

TEST(FormatExample, IsWhatTheWriterWrites) {
  TempDir dir;
  write_example_trace(dir / "example.tare");
  EXPECT_EQ(read_file(dir / "example.tare"), bytes_of_example());
}

TEST(FormatExample, ReadsAsTheTextSays) {
  TempDir dir;
  write_file(dir / "example.tare", bytes_of_example());
  auto opened = trace::open_trace(dir / "example.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->complete());
  EXPECT_EQ(opened->info().pid, 42u);
  EXPECT_TRUE(opened->info().ended_in_order);
  CollectingSink sink;
  ASSERT_TRUE(opened->replay_into(sink));
  ASSERT_EQ(sink.all.size(), 3u);
  EXPECT_EQ(sink.all[0].address, 0x6002a0u);
  EXPECT_EQ(sink.all[1].address, 0x6002a0u + 104 + 8);
  EXPECT_EQ(sink.all[2].kind, trace::EventKind::Free);
  EXPECT_EQ(sink.all[2].stamp, 1300u);
  const trace::Shape& shape = opened->dictionary().shapes.at(0);
  EXPECT_EQ(shape.requested_bytes, 100u);
  EXPECT_EQ(return_addresses(opened->dictionary(), shape.stack), (std::vector<std::uint64_t>{0x401234, 0x401000}));
}

}  // namespace
}  // namespace tare::test
