// Stacks of this process, walked as those of another one, and compared with the compiler's own unwinder.
#include "core/injection/stack_walk.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace tare::core {
namespace {

using Addresses = std::vector<std::uint64_t>;

[[gnu::noinline]] Addresses unwound() {
  Addresses addresses;
  const auto add = [](_Unwind_Context* context, void* to) {
    static_cast<Addresses*>(to)->push_back(_Unwind_GetIP(context));
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(add, &addresses);
  return addresses;
}

user_regs_struct registers_of(const ucontext_t& context) {
  const auto& from = context.uc_mcontext.gregs;
  const auto get = [&](int number) { return static_cast<std::uint64_t>(from[number]); };
  user_regs_struct to{};
  to.rax = get(REG_RAX);
  to.rdx = get(REG_RDX);
  to.rcx = get(REG_RCX);
  to.rbx = get(REG_RBX);
  to.rsi = get(REG_RSI);
  to.rdi = get(REG_RDI);
  to.rbp = get(REG_RBP);
  to.rsp = get(REG_RSP);
  to.r8 = get(REG_R8);
  to.r9 = get(REG_R9);
  to.r10 = get(REG_R10);
  to.r11 = get(REG_R11);
  to.r12 = get(REG_R12);
  to.r13 = get(REG_R13);
  to.r14 = get(REG_R14);
  to.r15 = get(REG_R15);
  to.rip = get(REG_RIP);
  to.orig_rax = ~std::uint64_t{0};
  return to;
}

struct Walks {
  WalkedStack walked;
  Addresses expected;
};

// From its caller on: its own frame, and those of the unwinder's callers, have other addresses.
[[gnu::noinline]] void walk_here(Walks& walks) {
  static const std::optional<LoadedObjects> objects = LoadedObjects::of(::getpid());
  ASSERT_TRUE(objects.has_value());
  ucontext_t context;
  ASSERT_EQ(::getcontext(&context), 0);
  walks.walked = walk_stack(::getpid(), *objects, registers_of(context));
  walks.expected = unwound();
  walks.walked.frames.erase(walks.walked.frames.begin());
  walks.expected.erase(walks.expected.begin(), walks.expected.begin() + 2);
}

void expect_same(const Walks& walks) {
  EXPECT_TRUE(walks.walked.is_followed);
  // The unwinder adds a frame at address 0 or not, depending on its version.
  Addresses expected = walks.expected;
  while (!expected.empty() && expected.back() == 0) expected.pop_back();
  Addresses walked;
  for (const WalkedFrame& frame : walks.walked.frames) walked.push_back(frame.address);
  EXPECT_EQ(walked, expected);
  EXPECT_GT(walked.size(), 5u);
}

[[gnu::noinline]] std::uint64_t nested(int depth, Walks& walks, std::uint64_t kept) {
  if (depth == 0) {
    walk_here(walks);
    return kept;
  }
  // A stack of a size that only the frame pointer remembers, and values in the registers that callees save.
  auto* const room = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(depth) * 40));
  room[0] = static_cast<char>(depth);
  const std::uint64_t a = kept * 3;
  const std::uint64_t b = kept ^ 5;
  return nested(depth - 1, walks, a + b) + a * b + static_cast<std::uint64_t>(room[0]);
}

[[gnu::noinline]] std::uint64_t aligned(Walks& walks, std::uint64_t kept) {
  alignas(128) volatile char room[256];
  room[0] = static_cast<char>(kept);
  auto* const more = static_cast<volatile char*>(__builtin_alloca(kept));
  more[0] = room[0];
  return nested(3, walks, kept) + static_cast<std::uint64_t>(room[0]) + static_cast<std::uint64_t>(more[0]);
}

TEST(StackWalk, FollowsNestedCalls) {
  Walks walks;
  nested(20, walks, 7);
  expect_same(walks);
  EXPECT_TRUE(std::ranges::all_of(walks.walked.frames, [](const WalkedFrame& frame) { return !frame.interrupted; }));
}

TEST(StackWalk, FollowsFramesOnAlignedStacks) {
  Walks walks;
  aligned(walks, 70);
  expect_same(walks);
}

Walks* in_handler = nullptr;

TEST(StackWalk, FollowsASignalsHandler) {
  Walks walks;
  in_handler = &walks;
  struct sigaction action{}, former{};
  action.sa_handler = [](int) { nested(2, *in_handler, 5); };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &former), 0);
  ::raise(SIGUSR1);
  ::sigaction(SIGUSR1, &former, nullptr);
  expect_same(walks);
  EXPECT_EQ(std::ranges::count_if(walks.walked.frames, [](const WalkedFrame& frame) { return frame.interrupted; }), 1);
}

TEST(StackWalk, EndsInCodeOfNoObject) {
  const LoadedObjects objects(::getpid(), 0, {});
  user_regs_struct registers{};
  registers.rip = 0x1234;
  const WalkedStack stack = walk_stack(::getpid(), objects, registers);
  EXPECT_TRUE(stack.is_followed);
  ASSERT_EQ(stack.frames.size(), 1u);
  EXPECT_EQ(stack.frames[0].object, nullptr);
  registers.rip = 0;
  EXPECT_TRUE(walk_stack(::getpid(), objects, registers).frames.empty());
}

// An object whose only function lies at its start. Its rules are those of its table's instructions.
class HandmadeStack : public ::testing::Test {
 protected:
  WalkedStack walk(const std::vector<std::uint8_t>& instructions) {
    constexpr std::uint8_t kTables[] = {1,  0x1b, 3,  0x3b, 0,    0, 0, 0, 1, 0,   0,   0,  // header, 1 line
                                        0,  0,    0,  0,    0,    0, 0, 0,                  // the line: 12
                                        16, 0,    0,  0,    0,    0, 0, 0, 1, 'z', 'R', 0,  // common record: 20
                                        1,  0x78, 16, 1,    0x1b, 0, 0, 0};
    std::memcpy(tables_, kTables, sizeof(kTables));
    const auto put = [&](std::size_t at, std::uint64_t value) {
      const auto word = static_cast<std::uint32_t>(value);
      std::memcpy(tables_ + at, &word, sizeof(word));
    };
    constexpr std::size_t kEntry = sizeof(kTables);
    put(12, kCode);
    put(16, kEntry);
    put(kEntry, 13 + instructions.size());
    put(kEntry + 4, kEntry + 4 - 20);
    put(kEntry + 8, kCode - (kEntry + 8));
    put(kEntry + 12, 64);
    std::memcpy(tables_ + kEntry + 17, instructions.data(), instructions.size());
    LoadedObject object;
    object.start = at(0);
    object.end = at(sizeof(tables_));
    object.eh_frame_header = at(0);
    user_regs_struct registers{};
    registers.rip = at(kCode);
    registers.rsp = reinterpret_cast<std::uint64_t>(stack_);
    return walk_stack(::getpid(), LoadedObjects(::getpid(), 0, {object}), registers);
  }
  std::uint64_t at(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(tables_) + offset; }

  static constexpr std::size_t kCode = 512;
  alignas(16) std::uint8_t tables_[1024] = {};
  std::uint64_t stack_[8] = {};
};

TEST_F(HandmadeStack, EndsAtTheOutermostFrame) {
  stack_[0] = at(kCode + 8);
  // Frame's address rsp + 8; the return address lies below. Behind byte 1, the function has no caller.
  const WalkedStack stack = walk({0x0c, 7, 8, 0x90, 1, 0x41, 0x07, 16});
  EXPECT_TRUE(stack.is_followed);
  ASSERT_EQ(stack.frames.size(), 2u);
  EXPECT_EQ(stack.frames[0].function, at(kCode));
  EXPECT_EQ(stack.frames[1].address, at(kCode + 8));
}

TEST_F(HandmadeStack, IsntFollowedWithoutKnownRules) {
  EXPECT_FALSE(walk({0x3f}).is_followed);                  // an unknown instruction
  EXPECT_FALSE(walk({0x0c, 7, 8}).is_followed);            // no return address
  EXPECT_FALSE(walk({0x0c, 16, 8, 0x90, 1}).is_followed);  // the frame is found by no general register
  EXPECT_FALSE(walk({0x0c, 7, 8, 0x09, 16, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}).is_followed);
  EXPECT_FALSE(walk({0x0c, 7, 8, 0x90, 1, 0x16, 6, 1, 0x30}).is_followed);  // a register by an expression
  EXPECT_FALSE(walk({0x0c, 1, 8, 0x90, 1}).is_followed);                    // a frame outside of memory
}

TEST_F(HandmadeStack, ThatDescendsIsntFollowed) {
  stack_[0] = at(kCode);
  const WalkedStack stack =
      walk({0x12, 7, 1, 0x90, 0});  // the frame's address is rsp - 8, the return address lies there
  EXPECT_FALSE(stack.is_followed);
}

TEST_F(HandmadeStack, WithoutEndHasALimit) {
  stack_[0] = at(kCode + 1);
  const WalkedStack stack = walk({0x0c, 7, 0, 0x90, 0});  // each frame is its own caller
  EXPECT_FALSE(stack.is_followed);
  EXPECT_EQ(stack.frames.size(), 1000u);
}

}  // namespace
}  // namespace tare::core
