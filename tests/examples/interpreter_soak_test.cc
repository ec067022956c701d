// The example's scripts: each prints what it should, and running them for ever takes no more memory than thrice.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "soak.h"

namespace script {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Suite {
  std::vector<Script> scripts;
  std::vector<std::string> expected;
};

Suite all_scripts() {
  Suite suite;
  for (const auto& entry : std::filesystem::directory_iterator(TARE_INTERPRETER_SCRIPTS)) {
    if (entry.path().extension() != ".sl") continue;
    suite.scripts.push_back({entry.path().stem(), contents(entry.path())});
    suite.expected.push_back(contents(std::filesystem::path(entry.path()).replace_extension(".out")));
  }
  return suite;
}

TEST(InterpreterSoak, ScriptsPrintWhatTheyShould) {
  Suite suite = all_scripts();
  ASSERT_GE(suite.scripts.size(), 9U);
  tare::gc::HeapOptions options;
  options.verifies = true;
  options.least_growth_bytes = std::size_t{256} << 10;
  Interpreter interpreter(options);
  EXPECT_NO_THROW(run_round(interpreter, suite.scripts, suite.expected));
}

TEST(InterpreterSoak, MemoryStaysFlat) {
  Suite suite = all_scripts();
  Interpreter interpreter;
  Footprint warm;
  for (int round = 0; round < 3; ++round) warm = run_round(interpreter, suite.scripts, suite.expected);
  ASSERT_GT(warm.live_objects, 0U);
  ASSERT_GT(warm.collections, 3U) << "the heap collects by itself, too";
  Footprint last;
  for (int round = 0; round < 6; ++round) {
    last = run_round(interpreter, suite.scripts, suite.expected);
    EXPECT_EQ(last.live_objects, warm.live_objects);
    EXPECT_EQ(last.live_bytes, warm.live_bytes);
    EXPECT_EQ(last.atoms, warm.atoms);
  }
  EXPECT_LE(last.page_bytes, warm.page_bytes + warm.page_bytes / 10);
  EXPECT_LE(last.peak_page_bytes, warm.peak_page_bytes + warm.peak_page_bytes / 4);
}

}  // namespace
}  // namespace script
