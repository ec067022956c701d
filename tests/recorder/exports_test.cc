// The library exports what its lists say and nothing else, and needs nothing but the C library.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "test_launcher.h"

namespace tare::test {
namespace {

std::string output_of(const std::string& command) {
  std::string all;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) all.append(buffer.data(), got);
  pclose(pipe);
  return all;
}

std::set<std::string> names_in(const std::string& file, const std::regex& pattern) {
  std::ifstream input(std::string(TARE_HOOKS_DEF) + "/" + file);
  std::set<std::string> names;
  for (std::string line; std::getline(input, line);) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) names.insert(match[1]);
  }
  return names;
}

TEST(Exports, AreTheHooksAndNothingElse) {
  std::set<std::string> expected = names_in("hooks.def", std::regex("^TARE_HOOK\\([^,]*, (\\w+), "));
  expected.merge(names_in("operators.def", std::regex("^TARE_(?:NEW|DELETE)\\((\\w+), ")));
  ASSERT_GT(expected.size(), 40u);
  expected.insert("tare_recorder_v1");  // of tare/reporter.h
  std::set<std::string> exported;
  std::istringstream lines(output_of("nm -D --defined-only --format=posix " + recorder_library()));
  for (std::string line; std::getline(lines, line);) exported.insert(line.substr(0, line.find(' ')));
  EXPECT_EQ(exported, expected);
}

TEST(Exports, NeedOnlyTheCLibrary) {
  std::istringstream lines(output_of("readelf -d " + recorder_library()));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("NEEDED") == std::string::npos) continue;
    EXPECT_TRUE(line.find("[libc.so") != std::string::npos || line.find("[ld-linux") != std::string::npos) << line;
  }
  const std::string undefined = output_of("nm -D --undefined-only " + recorder_library());
  EXPECT_EQ(undefined.find("__cxa_throw"), std::string::npos);
  EXPECT_EQ(undefined.find("__tls_get_addr"), std::string::npos);
}

}  // namespace
}  // namespace tare::test
