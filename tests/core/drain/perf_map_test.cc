// Names of generated code: lines of a map, V8's and CPython's names, code at reused addresses, files that aren't used.
#include "core/drain/generated_code/perf_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "trace/model/ids.h"

namespace tare::core {
namespace {

using trace::Dictionary;
using trace::GivenFrame;

constexpr std::uint64_t kNone = std::uint64_t{0xffff} << 48;

TEST(PerfMap, ALineIsStartSizeAndName) {
  const auto code = parse_perf_map_line("7f51f0023f40 378 JS:~make all /tmp/a.js:2:21\r");
  ASSERT_TRUE(code);
  EXPECT_EQ(code->start, 0x7f51f0023f40u);
  EXPECT_EQ(code->bytes, 0x378u);
  EXPECT_EQ(code->name, "JS:~make all /tmp/a.js:2:21");
  EXPECT_TRUE(parse_perf_map_line("0x10 0x20 f")) << "Java's agent";
  for (const char* line : {"", "10", "10 20", "10 20 ", "x 20 f", "10 x f", "10 0 f", "123456789012345678 1 f",
                           "-1 20 f", "10  20 f", "1020f"}) {
    EXPECT_FALSE(parse_perf_map_line(line)) << line;
  }
  EXPECT_EQ(parse_perf_map_line("ffffffffffffff00 ffff f")->bytes, 0xffu) << "doesn't wrap";
}

TEST(PerfMap, NamesHaveFunctionFileAndLine) {
  const auto check = [](std::string_view name, const char* function, const char* file, std::uint32_t line) {
    const GivenFrame frame = frame_of_generated(name);
    EXPECT_EQ(frame.function, function) << name;
    EXPECT_EQ(frame.file, file) << name;
    EXPECT_EQ(frame.line, line) << name;
  };
  check("JS:*parse /srv/my app.js:12:9", "parse", "/srv/my app.js", 12);
  check("JS:^get x node:internal/url:7:1", "get", "x node:internal/url", 7);
  check("JS:~ file:///srv/a.mjs:1:1", "(anonymous)", "/srv/a.mjs", 1);
  check("JS:+f a.js:3:4", "f", "a.js", 3);
  check("JS:*noplace", "noplace", "", 0);
  check("JS:f a.js:3", "f a.js:3", "", 0);
  check("JS:f a.js:99999999999:4", "f a.js:99999999999:4", "", 0);
  check("JS:", "", "", 0);
  check("py::Point.add:/srv/app.py", "Point.add", "/srv/app.py", 0);
  check("py::nothing", "py::nothing", "", 0);
  check("int java.lang.String::indexOf(int)", "int java.lang.String::indexOf(int)", "", 0);
  EXPECT_EQ(frame_of_generated(std::string(10'000, 'x')).function.size(), 4000u);
}

Dictionary three_rows() {
  Dictionary dictionary;
  dictionary.rows = {kNone | 0x2010, 0x2010, kNone | 0x1001, kNone | 0x3000};
  dictionary.given_frames = {{trace::RowId{3}, "known", "", 0}};
  return dictionary;
}

// Beside a table of all addresses, written line by line.
TEST(PerfMap, TheLastLineNamesAnAddress) {
  Dictionary dictionary;
  constexpr std::uint32_t kRows = 200;
  for (std::uint64_t address = 1; address <= kRows; ++address) dictionary.rows.push_back(kNone | address);
  std::mt19937 chance(7);
  for (int round = 0; round < 200; ++round) {
    GeneratedNames names(dictionary);
    std::vector<std::string> expected(kRows);
    for (int line = 0; line < 50; ++line) {
      const std::uint64_t start = chance() % (kRows + 20);
      const std::uint64_t bytes = 1 + chance() % 40;
      const std::string name = "f" + std::to_string(line);
      names.add({start, bytes, name});
      for (std::uint64_t at = start; at < start + bytes && at < kRows; ++at) expected[at] = name;
    }
    Dictionary named = dictionary;
    names.add_to(named);
    std::vector<std::string> found(kRows);
    for (const GivenFrame& frame : named.given_frames) found[trace::index(frame.row)] = frame.function;
    ASSERT_EQ(found, expected) << round;
  }
}

TEST(PerfMap, NamesRowsOfNoModule) {
  Dictionary dictionary = three_rows();
  GeneratedNames names(dictionary);
  names.add({0x1000, 1, "first"});  // the call before the return address 0x1001
  names.add({0x2000, 0x10, "old"});
  names.add({0x2008, 0x08, "new"});
  names.add({0x2010, 0x10, "behind"});
  names.add({0x2fff, 0x10, "not for a row with a name"});
  EXPECT_EQ(names.add_to(dictionary), 2u);
  ASSERT_EQ(dictionary.given_frames.size(), 3u);
  EXPECT_EQ(dictionary.given_frames[1].function, "first");
  EXPECT_EQ(dictionary.given_frames[1].row, trace::RowId{2});
  EXPECT_EQ(dictionary.given_frames[2].function, "new");
  EXPECT_EQ(dictionary.given_frames[2].row, trace::RowId{0});

  Dictionary without;
  without.rows = {0x2010};
  EXPECT_TRUE(GeneratedNames(without).empty());
}

class PerfMapFile : public testing::Test {
 protected:
  PerfMapUse read(const std::string& text, GeneratedNames& names) {
    const int fd = ::open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(fd);
    return read_perf_map(path_, ::geteuid(), 0, names);
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  std::string path_ = testing::TempDir() + "perf-" + std::to_string(::getpid()) + ".map";
};

TEST_F(PerfMapFile, LinesMayLieAcrossPieces) {
  Dictionary dictionary = three_rows();
  GeneratedNames names(dictionary);
  const std::string last = "1000 10 " + std::string(500'000, 'f');  // no newline
  std::string text;
  while (text.size() < (3u << 20)) text += "2000 20 g" + std::to_string(text.size()) + "\n";
  text += std::string(3 << 20, '#') + "\n" + last;
  EXPECT_EQ(read(text, names), PerfMapUse::Used);
  EXPECT_EQ(names.add_to(dictionary), 2u);
  EXPECT_EQ(dictionary.given_frames[1].function, std::string(1024, 'f'));
  EXPECT_EQ(dictionary.given_frames[2].function.front(), 'g');
}

TEST_F(PerfMapFile, OnlyTheUsersOwnNewFileIsRead) {
  Dictionary dictionary = three_rows();
  GeneratedNames names(dictionary);
  EXPECT_EQ(read_perf_map(path_, ::geteuid(), 0, names), PerfMapUse::Absent);
  EXPECT_EQ(read("1000 10 f\n", names), PerfMapUse::Used);
  const std::uint64_t future_ns = 4'000'000'000'000'000'000;
  EXPECT_EQ(read_perf_map(path_, ::geteuid(), future_ns, names), PerfMapUse::Stale);
  if (::geteuid() != 0) {
    EXPECT_EQ(read_perf_map(path_, ::geteuid() + 1, 0, names), PerfMapUse::Foreign);
  } else {
    ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_EQ(read_perf_map(path_, 54321, 0, names), PerfMapUse::Foreign);
  }
  const std::string link = path_ + ".link";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_EQ(read_perf_map(link, ::geteuid(), 0, names), PerfMapUse::Foreign);
  ::unlink(link.c_str());
  ASSERT_EQ(::mkfifo(link.c_str(), 0600), 0);
  EXPECT_EQ(read_perf_map(link, ::geteuid(), 0, names), PerfMapUse::Foreign) << "and doesn't wait";
  ::unlink(link.c_str());
  ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(kMaxPerfMapBytes) + 1), 0);
  EXPECT_EQ(read_perf_map(path_, 12345, 0, names), ::geteuid() == 0 ? PerfMapUse::TooLarge : PerfMapUse::Foreign);
}

}  // namespace
}  // namespace tare::core
