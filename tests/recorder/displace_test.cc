// Lengths of instructions beside objdump's, and functions that are called where their first instructions were moved to.
#include "recorder/foreign/displace.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "recorder/foreign/instruction.h"

namespace tare::recorder {
namespace {

using Code = std::vector<std::uint8_t>;

// Disassembled lines "  401000:<tab>f3 0f 1e fa <tab>endbr64" of all code of a file.
struct Line {
  std::uint64_t address;
  Code bytes;
  std::string text;
};

std::vector<Line> disassemble(const std::string& file) {
  std::vector<Line> lines;
  FILE* const out = ::popen(("objdump -d -w --section=.text '" + file + "'").c_str(), "r");
  if (out == nullptr) return lines;
  char buffer[512];
  while (::fgets(buffer, sizeof buffer, out) != nullptr) {
    char* at = nullptr;
    const std::uint64_t address = std::strtoull(buffer, &at, 16);
    if (at == buffer || *at != ':') continue;
    Line line{address, {}, {}};
    at += 2;  // ":<tab>"
    while (*at != '\t' && *at != '\n' && *at != '\0') {
      line.bytes.push_back(static_cast<std::uint8_t>(std::strtoull(at, &at, 16)));
      while (*at == ' ') ++at;
    }
    line.text = at;
    lines.push_back(std::move(line));
  }
  ::pclose(out);
  return lines;
}

TEST(InstructionTest, HasTheLengthsOfObjdump) {
  std::size_t known = 0;
  std::size_t unknown = 0;
  for (const char* file : {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libm.so.6"}) {
    for (const Line& line : disassemble(file)) {
      if (line.text.find("(bad)") != std::string::npos) continue;
      const Instruction found = decode_instruction(line.bytes.data(), line.bytes.size());
      if (found.kind == InstructionKind::Unknown) {
        ++unknown;
        continue;
      }
      ++known;
      ASSERT_EQ(found.length, line.bytes.size()) << std::hex << line.address << ": " << line.text;
    }
  }
  EXPECT_GT(known, 200'000u);
  EXPECT_LT(unknown, known / 1000);  // AVX-512 of the mathematical functions
}

TEST(InstructionTest, NeverReadsBeyondTheEnd) {
  for (std::uint32_t first = 0; first < 0x10000; ++first) {
    for (std::size_t bytes = 0; bytes <= 3; ++bytes) {
      Code code{static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(first >> 8), 0x05};
      code.resize(bytes);
      code.shrink_to_fit();
      EXPECT_LE(decode_instruction(code.data(), code.size()).length, bytes);
    }
  }
}

// A page for code, with `function` at its start and room for moved instructions behind it.
class Page {
 public:
  explicit Page(const Code& function) {
    bytes_ = static_cast<std::uint8_t*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(bytes_, function.data(), function.size());
    size_ = function.size();
  }
  ~Page() { ::munmap(bytes_, 4096); }
  Displaced displace_first() {
    const Displaced done = displace(bytes_, size_, moved(), reinterpret_cast<std::uint64_t>(moved()));
    if (done.refusal == nullptr) std::memset(bytes_ + done.place, 0xcc, done.bytes);  // nothing runs there any more
    return done;
  }
  long call_moved(long argument) const { return reinterpret_cast<long (*)(long)>(moved())(argument); }
  std::uint8_t* moved() const { return bytes_ + 2048; }
  std::uint8_t* bytes() const { return bytes_; }

 private:
  std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0;
};

TEST(DisplaceTest, MovesPlainInstructions) {
  // endbr64; push %rbp; mov %rsp,%rbp; lea 5(%rdi),%rax; pop %rbp; ret
  Page page({0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x47, 0x05, 0x5d, 0xc3});
  const Displaced done = page.displace_first();
  ASSERT_EQ(done.refusal, nullptr);
  EXPECT_EQ(done.place, 4);
  EXPECT_EQ(done.bytes, 8);
  EXPECT_EQ(page.call_moved(37), 42);
}

TEST(DisplaceTest, MovesShortBranches) {
  // test %rdi,%rdi; je to the last two; lea 1(%rdi),%rax; ret; mov $7,%eax; ret
  Page page({0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x47, 0x01, 0xc3, 0xb8, 7, 0, 0, 0, 0xc3});
  ASSERT_EQ(page.displace_first().refusal, nullptr);
  EXPECT_EQ(page.call_moved(41), 42);
  EXPECT_EQ(page.call_moved(0), 7);
}

TEST(DisplaceTest, MovesReferencesByDistance) {
  // mov 9(%rip),%rax; add %rdi,%rax; ret; padding; .quad 40
  Page page(
      {0x48, 0x8b, 0x05, 9, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 40, 0, 0, 0, 0, 0, 0, 0});
  const Displaced done = displace(page.bytes(), 11, page.moved(), reinterpret_cast<std::uint64_t>(page.moved()));
  ASSERT_EQ(done.refusal, nullptr);
  EXPECT_EQ(page.call_moved(2), 42);
}

TEST(DisplaceTest, MovesAJumpThatIsTheWholeFunction) {
  // jmp to what lies five bytes on: lea 2(%rdi),%rax; ret
  Page page({0xe9, 3, 0, 0, 0, 0xcc, 0xcc, 0xcc, 0x48, 0x8d, 0x47, 0x02, 0xc3});
  const Displaced done = displace(page.bytes(), 5, page.moved(), reinterpret_cast<std::uint64_t>(page.moved()));
  ASSERT_EQ(done.refusal, nullptr);
  EXPECT_EQ(page.call_moved(40), 42);
}

TEST(DisplaceTest, RefusesWhatItCannotMove) {
  const auto refusal = [](const Code& code) {
    const char* const text = Page(code).displace_first().refusal;
    return std::string(text == nullptr ? "" : text);
  };
  EXPECT_EQ(refusal({0xc3}), "it is too short");
  EXPECT_EQ(refusal({0x48, 0x89, 0xf8, 0xc3, 0x90, 0x90}), "it is too short");        // ret in the place
  EXPECT_EQ(refusal({0xe8, 0, 0, 0, 0, 0xc3}), "it begins with a call");              // call
  EXPECT_EQ(refusal({0xff, 0x15, 0, 0, 0, 0, 0xc3}), "it begins with a call");        // call *0(%rip)
  EXPECT_EQ(refusal({0xe2, 0xfe, 0x90, 0x90, 0x90, 0x90}), "it begins with a loop");  // loop
  EXPECT_EQ(refusal({0x06, 0x90, 0x90, 0x90, 0x90, 0x90}), "it begins with an instruction that isn't known");
  // push %rbx; mov %rdi,%rax; dec %rax; jne to the mov; pop %rbx; ret
  EXPECT_EQ(refusal({0x53, 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xf8, 0x5b, 0xc3}),
            "it branches to its own beginning");
  // The same with something unknown behind it.
  EXPECT_EQ(refusal({0x53, 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x06, 0xf8, 0x5b, 0xc3}),
            "it has an instruction that isn't known");
}

TEST(DisplaceTest, RefusesDistancesThatDoNotFit) {
  Page page({0x48, 0x8b, 0x05, 9, 0, 0, 0, 0xc3});
  const std::uint64_t far = reinterpret_cast<std::uint64_t>(page.bytes()) ^ (std::uint64_t{1} << 40);
  EXPECT_STREQ(displace(page.bytes(), 8, page.moved(), far).refusal, "it refers to memory that is too far away");
}

}  // namespace
}  // namespace tare::recorder
