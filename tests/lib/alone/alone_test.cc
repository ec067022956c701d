// Who takes one block of the static library gets no other with it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

// The lines of `nm --demangle --defined-only` about the library.
std::vector<std::string> symbols_of_library(const std::string& program) {
  const std::string command = "nm --demangle --defined-only '" + program + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nm(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  char line[4096];
  while (nm != nullptr && std::fgets(line, sizeof line, nm.get()) != nullptr) {
    if (std::string(line).find("tare::") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

void expect_alone(const std::string& program, const std::string& own) {
  EXPECT_EQ(std::system(program.c_str()), 0);
  const std::vector<std::string> symbols = symbols_of_library(program);
  bool has_own = false;
  for (const std::string& symbol : symbols) {
    has_own = has_own || symbol.find(own) != std::string::npos;
    for (const char* other :
         {"tare::Atom", "tare::atom_", "tare::Cage", "tare::Arena", "tare::Report", "tare::at_fork"}) {
      EXPECT_EQ(symbol.find(other), std::string::npos) << program << " has " << symbol;
    }
  }
  EXPECT_TRUE(has_own) << program << " has nothing of " << own << ", so that this test sees nothing";
}

TEST(Alone, BufferBringsNothingElse) { expect_alone(TARE_BUFFER_ALONE, "tare::good_size"); }
TEST(Alone, BytesBringNothingElse) { expect_alone(TARE_BYTES_ALONE, "tare::Bytes"); }
TEST(Alone, TextBringsNothingElse) { expect_alone(TARE_TEXT_ALONE, "tare::TextWriter"); }

}  // namespace
