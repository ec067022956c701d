// What gcc and clang make of each decoding: no branch, the base loaded once a function, and the bytes that the seed's
// article counts.
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

struct Instruction {
  std::string text;  // mnemonic and operands
  std::size_t bytes = 0;
};
using Functions = std::map<std::string, std::vector<Instruction>>;

// Of each object file, by its path; without those that there's no objdump for.
std::map<std::string, Functions> disassembled() {
  std::map<std::string, Functions> files;
  std::istringstream paths(TARE_GC_CODE);
  for (std::string path; std::getline(paths, path, ',');) {
    const std::string command = "objdump -dr -w --insn-width=16 '" + path + "' 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::array<char, 1024> line{};
    std::string current;
    while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
      const std::string text = line.data();
      const std::size_t name = text.find('<');
      if (name != std::string::npos && text.find(">:") != std::string::npos) {
        current = text.substr(name + 1, text.find(">:") - name - 1);
        continue;
      }
      // "   0:\t48 63 c7   \tmovslq %edi,%rax\t..."
      const std::size_t first = text.find('\t');
      const std::size_t second = text.find('\t', first + 1);
      if (current.empty() || first == std::string::npos || second == std::string::npos) continue;
      std::istringstream hex(text.substr(first, second - first));
      Instruction instruction{text.substr(second + 1), 0};
      for (std::string byte; hex >> byte;) ++instruction.bytes;
      const bool is_padding = instruction.text.starts_with("nop") || instruction.text.starts_with("xchg") ||
                              instruction.text.starts_with("data16") || instruction.text.starts_with("cs");
      if (!is_padding) files[path][current].push_back(instruction);
    }
  }
  return files;
}

bool is_conditional(const Instruction& instruction) {
  return instruction.text.starts_with("j") && !instruction.text.starts_with("jmp");
}

// The write barrier of a store into a heap that is being marked, and the group with such barriers.
bool is_of_barrier(const std::string& name) {
  return name.find("Guarded") != std::string::npos || name.find("mark_bits") != std::string::npos ||
         name.find("Generational") != std::string::npos || name.find("mark_or_remember") != std::string::npos;
}

std::size_t bytes_of(const std::vector<Instruction>& code) {
  std::size_t sum = 0;
  for (const Instruction& instruction : code) sum += instruction.bytes;
  return sum;
}

std::ptrdiff_t loads_of_base(const std::vector<Instruction>& code) {
  return std::count_if(code.begin(), code.end(), [](const Instruction& instruction) {
    return instruction.text.find("cage_bases") != std::string::npos;
  });
}

class DecodingCode : public testing::Test {
 protected:
  void SetUp() override {
    if (files_.empty()) GTEST_SKIP() << "no objdump";
  }
  const std::map<std::string, Functions> files_ = disassembled();
};

TEST_F(DecodingCode, HasNoBranches) {
  for (const auto& [path, functions] : files_) {
    ASSERT_GE(functions.size(), 60u) << path;
    for (const auto& [name, code] : functions) {
      // For addresses of thread locals compilers write what linkers want, with calls.
      if (name.find("ThreadBase") != std::string::npos || is_of_barrier(name)) continue;
      EXPECT_TRUE(std::none_of(code.begin(), code.end(), is_conditional)) << path << ": " << name;
    }
  }
}

TEST_F(DecodingCode, LoadsTheBaseOnceThoughCallsLieBetween) {
  for (const auto& [path, functions] : files_) {
    for (const char* scheme : {"Seed", "Seed16", "Split", "Shiftless"}) {
      const auto& code = functions.at(std::string("baz_") + scheme);
      EXPECT_EQ(loads_of_base(code), 1) << path << ": " << scheme;
    }
    EXPECT_EQ(loads_of_base(functions.at("baz_Low")), 0) << path;
  }
}

// The article's bytes are without the return, and for compressing without the move of the argument.
TEST_F(DecodingCode, OfTheSeedsSchemeIsAsShortAsInTheArticle) {
  for (const auto& [path, functions] : files_) {
    EXPECT_LE(bytes_of(functions.at("get_Seed")), 13u + 1) << path;  // movslq, add, and [rip]; ret
    EXPECT_LE(functions.at("get_Seed").size(), 4u) << path;
    EXPECT_LE(bytes_of(functions.at("store_Seed")), 3u + 2 + 1) << path;  // shr; mov [rdi], esi; ret
  }
}

TEST_F(DecodingCode, DecodesNothingForNullComparisonAndCopy) {
  for (const auto& [path, functions] : files_) {
    for (const auto& [name, code] : functions) {
      const bool needs_none = name.starts_with("is_null") || name.starts_with("equal") || name.starts_with("copy") ||
                              name.starts_with("store");
      if (!needs_none || is_of_barrier(name)) continue;
      EXPECT_EQ(loads_of_base(code), 0) << path << ": " << name;
      EXPECT_LE(bytes_of(code), 15u) << path << ": " << name;
    }
  }
}

// The seed's example: compilers loaded the base before the branch that leads to where it is needed.
TEST_F(DecodingCode, OfABarrierIsOneLoadAndOneBranchWhereNothingIsMarking) {
  for (const auto& [path, functions] : files_) {
    for (const char* name : {"store_Guarded", "copy_Guarded"}) {
      const auto& code = functions.at(name);
      const auto count = [&](auto&& is) { return std::count_if(code.begin(), code.end(), is); };
      EXPECT_EQ(loads_of_base(code), 0) << path << ": " << name;
      EXPECT_EQ(count(is_conditional), 1) << path << ": " << name;
      EXPECT_EQ(count([](const Instruction& one) { return one.text.find("marking_heaps") != std::string::npos; }), 1)
          << path << ": " << name;
      // encode or load, store; load the flag, test it, branch; return; and the jump out of line
      EXPECT_LE(code.size(), 8u) << path << ": " << name;
    }
  }
}

// Whether anything is marking, whether the place is in the cage, and whether it is old: in line, and nothing else.
TEST_F(DecodingCode, OfTheYoungGenerationsBarrierIsThreeBranches) {
  for (const auto& [path, functions] : files_) {
    for (const char* name : {"store_Generational", "copy_Generational"}) {
      const auto& code = functions.at(name);
      const auto count = [&](auto&& is) { return std::count_if(code.begin(), code.end(), is); };
      EXPECT_EQ(loads_of_base(code), 0) << path << ": " << name;
      EXPECT_EQ(count(is_conditional), 3) << path << ": " << name;
      EXPECT_EQ(count([](const Instruction& one) { return one.text.starts_with("push"); }), 0) << path << ": " << name;
      EXPECT_EQ(count([](const Instruction& one) { return one.text.starts_with("call"); }), 0) << path << ": " << name;
      EXPECT_LE(code.size(), 21u) << path << ": " << name;
    }
  }
}

TEST_F(DecodingCode, OfTheDefaultFoldsIntoTheAccess) {
  for (const auto& [path, functions] : files_) {
    // load the 4 bytes, load the base, access with both; ret
    EXPECT_LE(functions.at("access_Split").size(), 4u) << path;
    EXPECT_LE(functions.at("access_Low").size(), 3u) << path;
    EXPECT_LE(bytes_of(functions.at("get_Split")), 32u) << path;
  }
}

TEST_F(DecodingCode, IsListed) {
  for (const auto& [path, functions] : files_) {
    std::printf("%s\n", path.substr(path.rfind('/') + 1).c_str());
    for (const auto& [name, code] : functions) std::printf("  %-24s %3zu bytes\n", name.c_str(), bytes_of(code));
  }
}

}  // namespace
