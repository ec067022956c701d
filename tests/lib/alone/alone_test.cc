// A program that uses one part of the static library links no other part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace {

// The lines of `nm --demangle --defined-only` about the library, without its version's namespace.
std::vector<std::string> symbols_of_library(const std::string& program) {
  const std::string command = "nm --demangle --defined-only '" + program + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nm(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  char line[4096];
  while (nm != nullptr && std::fgets(line, sizeof line, nm.get()) != nullptr) {
    if (std::string(line).find("tare::") == std::string::npos) continue;
    lines.push_back(std::regex_replace(line, std::regex("tare::v[0-9_]+::"), "tare::"));
  }
  return lines;
}

// A word in the names of each part's symbols.
struct Block {
  const char* name;
  const char* sign;
};
constexpr Block kBlocks[] = {
    {"atoms", "tare::Atom"},        {"atoms", "tare::atom_"},      {"cages", "tare::Cage"},
    {"arenas", "tare::Arena"},      {"reporters", "tare::Report"}, {"reporters", "tare::Memory"},
    {"text", "tare::TextWriter"},   {"bytes", "tare::Bytes"},      {"ledger", "tare::RefLedger"},
    {"variant", "tare::variant::"}, {"buffers", "tare::good_size"}};

// The program runs, has a symbol with `own`, and nothing of blocks but those named.
void expect_only(const std::string& program, const std::string& own, const std::vector<std::string>& allowed) {
  const std::string path = std::string(TARE_ALONE_FOLDER "/") + program;
  EXPECT_EQ(std::system(path.c_str()), 0);
  bool has_own = own.empty();
  for (const std::string& symbol : symbols_of_library(path)) {
    has_own = has_own || symbol.find(own) != std::string::npos;
    for (const Block& block : kBlocks) {
      if (std::find(allowed.begin(), allowed.end(), block.name) != allowed.end()) continue;
      EXPECT_EQ(symbol.find(block.sign), std::string::npos) << program << " has of " << block.name << ": " << symbol;
    }
  }
  EXPECT_TRUE(has_own) << program << " has nothing of " << own << ", so that this test sees nothing";
}

TEST(Alone, BufferBringsNothingElse) { expect_only("buffer-alone", "tare::good_size", {"buffers"}); }
TEST(Alone, BytesBringTheSizesThatTheyAskFor) { expect_only("bytes-alone", "tare::Bytes", {"bytes", "buffers"}); }
TEST(Alone, TextBringsTheBytesThatItGives) {
  expect_only("text-alone", "tare::TextWriter", {"text", "bytes", "buffers"});
}
TEST(Alone, ArenaBringsTheSizesThatItAsksFor) { expect_only("arena-alone", "tare::Arena", {"arenas", "buffers"}); }
TEST(Alone, CageBringsNothingElse) { expect_only("cage-alone", "tare::Cage", {"cages"}); }
TEST(Alone, AtomsBringTheirCageAndTheBytesThatTheyAreGivenAwayAs) {
  expect_only("atom-alone", "tare::Atom", {"atoms", "cages", "bytes", "buffers"});
}
TEST(Alone, PointersAreHeadersOnly) { expect_only("pointer-alone", "", {}); }
TEST(Alone, ReportersBringNothingElse) { expect_only("reporter-alone", "tare::Reporter", {"reporters"}); }

}  // namespace
