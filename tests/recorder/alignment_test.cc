// A program may call the heap with a stack that is aligned to 8 bytes only: a move of 16 bytes would raise SIGSEGV.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "test_launcher.h"

namespace tare::test {
namespace {

// Instructions of SSE that need an operand in memory to be aligned to 16 bytes.
bool needs_alignment(const std::string& mnemonic) {
  static const std::set<std::string> kMoves = {"movaps", "movapd", "movdqa", "movntps", "movntpd", "movntdq"};
  static const std::set<std::string> kOthers = {"movups", "movupd", "movhps", "movlps",
                                                "movhpd", "movlpd", "pinsrq", "pextrq"};
  if (kMoves.contains(mnemonic)) return true;
  if (kOthers.contains(mnemonic)) return false;
  return mnemonic.ends_with("ps") || mnemonic.ends_with("pd") || mnemonic.starts_with("p");
}

struct Code {
  bool calls = false;
  bool has_frame = false;
  bool aligns_its_stack = false;
  std::string aligned_move;  // to or from memory; empty: none
};

// By function; a part that the compiler moved away belongs to its function.
std::map<std::string, Code> disassembled() {
  std::map<std::string, Code> functions;
  const std::string command = "objdump -d --no-show-raw-insn '" + recorder_library() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return functions;
  std::array<char, 2048> line{};
  std::string current;
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string text = line.data();
    std::istringstream words(text);
    std::string address;
    std::string mnemonic;
    std::string operands;
    words >> address >> mnemonic >> operands;
    if (mnemonic.starts_with("<") && mnemonic.ends_with(">:")) {
      current = mnemonic.substr(1, mnemonic.size() - 3);
      if (current.ends_with(".cold")) current.resize(current.size() - 5);
      functions.try_emplace(current);
    } else if (mnemonic == "call" || mnemonic == "addr32") {
      functions[current].calls = true;
    } else if (mnemonic == "push") {
      functions[current].has_frame = true;
    } else if (mnemonic == "and" && operands.starts_with("$0xffffffffffff") && operands.ends_with("0,%rsp")) {
      functions[current].aligns_its_stack = true;
    } else if (operands.find("%xmm") != std::string::npos && operands.find('(') != std::string::npos &&
               operands.find("(%rip)") == std::string::npos && needs_alignment(mnemonic)) {
      functions[current].aligned_move = text;
    }
  }
  return functions;
}

TEST(Alignment, OfTheCallersStackIsNotReliedOn) {
  const std::map<std::string, Code> functions = disassembled();
  std::size_t aligned = 0;
  std::size_t moving = 0;
  for (const auto& [name, code] : functions) {
    aligned += code.aligns_its_stack;
    moving += !code.aligned_move.empty();
    EXPECT_TRUE(code.aligned_move.empty() || code.aligns_its_stack) << name << "\n" << code.aligned_move;
  }
  EXPECT_GT(aligned, 50u);
  EXPECT_GT(moving, 5u);  // they were looked for and found
}

// An instruction each would be too much in what each event runs.
TEST(Alignment, CostsTheHooksNothing) {
  std::map<std::string, Code> functions = disassembled();
  for (const char* name : {"tare_recorded_malloc", "tare_recorded_calloc", "tare_recorded_free", "aligned_alloc"}) {
    ASSERT_TRUE(functions.contains(name)) << name;
    EXPECT_FALSE(functions[name].aligns_its_stack) << name;
  }
}

// Where nothing is recorded, the hooks jump to the real function: no call of malloc_usable_size or anything else. But
// those of larger requests look at the result, because a failure is recorded.
TEST(PassingHooks, AreJumps) {
  const std::map<std::string, Code> functions = disassembled();
  std::size_t found = 0;
  for (const auto& [name, code] : functions) {
    const bool jumps = name == "malloc" || name == "calloc" || name == "realloc" || name == "free";
    const bool is_in_table = name.find("sleeping_") != std::string::npos || name.find("sampling_") != std::string::npos;
    if (!jumps && !is_in_table) continue;
    ++found;
    const bool is_for_larger = name.find("sampling_malloc") != std::string::npos ||  //
                               name.find("sampling_calloc") != std::string::npos;
    EXPECT_EQ(code.calls, is_for_larger) << name;
    EXPECT_EQ(code.has_frame, is_for_larger) << name;
  }
  EXPECT_EQ(found, 4u + 4u + 3u);
}

}  // namespace
}  // namespace tare::test
