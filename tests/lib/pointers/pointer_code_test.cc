// No branch in what is done with a compressed pointer, and no more instructions than there must be.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

// Mnemonics of each function in the object file, as objdump prints them; empty without objdump.
std::map<std::string, std::vector<std::string>> disassembled() {
  std::map<std::string, std::vector<std::string>> functions;
  const std::string command = "objdump -d --no-show-raw-insn '" TARE_POINTER_CODE "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return functions;
  std::array<char, 512> line{};
  std::string current;
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::istringstream words(line.data());
    std::string first;
    std::string second;
    words >> first >> second;
    if (second.size() > 3 && second.front() == '<' && second.ends_with(">:")) {
      current = second.substr(1, second.size() - 3);
      functions[current];
    } else if (first.ends_with(":") && !second.empty() && !current.empty()) {
      const bool padding = second.starts_with("nop") || second == "xchg" || second == "data16" || second == "cs";
      if (!padding) functions[current].push_back(second);
    }
  }
  return functions;
}

bool is_branch(const std::string& mnemonic) {
#if defined(__x86_64__)
  return mnemonic.front() == 'j' || mnemonic == "call";
#else
  return mnemonic == "b" || mnemonic.starts_with("b.") || mnemonic.starts_with("cb") || mnemonic.starts_with("tb") ||
         mnemonic == "bl";
#endif
}

TEST(PointerCode, HasNoBranchesAndLittleElse) {
  const auto functions = disassembled();
  if (functions.empty()) GTEST_SKIP() << "no objdump";
  // With the return, and one or two to spare for other compilers than gcc 12 and clang 19.
  const std::map<std::string, std::size_t> most{
      {"code_get", 9},     {"code_access", 5},      {"code_access_twice", 6}, {"code_store", 4},       {"code_copy", 3},
      {"code_compare", 5}, {"code_compare_raw", 5}, {"code_is_null", 5},      {"code_is_sentinel", 4}, {"code_hash", 8},
      {"code_to_base", 3}, {"code_to_derived", 3},  {"code_get_low", 2},      {"code_move", 5},
  };
  for (const auto& [name, limit] : most) {
    const auto found = functions.find(name);
    ASSERT_NE(found, functions.end()) << name;
    EXPECT_LE(found->second.size(), limit) << name;
    for (const std::string& mnemonic : found->second) EXPECT_FALSE(is_branch(mnemonic)) << name << ": " << mnemonic;
  }
}

TEST(PointerCode, TakingAReferenceIsATestAndAnAddition) {
  const auto functions = disassembled();
  if (functions.empty()) GTEST_SKIP() << "no objdump";
  const std::vector<std::string>& code = functions.at("code_take");
  EXPECT_LE(code.size(), 11u);
  EXPECT_EQ(std::count_if(code.begin(), code.end(), is_branch), 1) << "for null; and the ledger isn't called";
}

}  // namespace
