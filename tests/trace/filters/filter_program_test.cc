// Filters beside the kernel: what it takes and how it answers.
#include "trace/filters/filter_program.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <vector>

namespace tare::trace {
namespace {

using Steps = std::vector<sock_filter>;

sock_filter step(unsigned code, std::uint32_t k, std::uint8_t jt = 0, std::uint8_t jf = 0) {
  return {static_cast<std::uint16_t>(code), jt, jf, k};
}
const sock_filter kAllow = step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

bool is_valid(const Steps& steps) {
  return FilterProgram(steps.data(), static_cast<std::uint32_t>(steps.size())).is_valid();
}

// A child that installs the filter and calls `number` with `argument` exits with this.
enum Ending : int { kRefused = 100, kExecuted = 0 };

int kernel_answer(const Steps& steps, long number, long argument) {
  const pid_t child = fork();
  if (child == 0) {
    const sock_fprog filter{static_cast<unsigned short>(steps.size()), const_cast<sock_filter*>(steps.data())};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) _exit(errno == EINVAL ? kRefused : 101);
    const long result = syscall(number, argument, 0, 0, 0, 0, 0);
    _exit(result >= 0 ? kExecuted : errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int own_answer(const Steps& steps, int number, std::uint64_t argument) {
  if (!is_valid(steps)) return kRefused;
  seccomp_data data{};
  data.nr = number;
  data.arch = AUDIT_ARCH_X86_64;
  data.args[0] = argument;
  const FilterAction action = FilterProgram(steps.data(), static_cast<std::uint32_t>(steps.size())).answer(data);
  if (action == SECCOMP_RET_ALLOW) return kExecuted;
  return action == SECCOMP_RET_ERRNO ? EXDEV : -1;
}

TEST(FilterProgram, LengthAndEnd) {
  EXPECT_TRUE(is_valid({kAllow}));
  EXPECT_FALSE(is_valid({}));
  EXPECT_TRUE(is_valid(Steps(BPF_MAXINSNS, kAllow)));
  EXPECT_FALSE(is_valid(Steps(BPF_MAXINSNS + 1, kAllow)));
  EXPECT_FALSE(is_valid({step(BPF_LD | BPF_IMM, 1)}));
}

TEST(FilterProgram, JumpsLeadForwardInBounds) {
  EXPECT_TRUE(is_valid({step(BPF_JMP | BPF_JA, 0), kAllow}));
  EXPECT_FALSE(is_valid({step(BPF_JMP | BPF_JA, 1), kAllow}));
  EXPECT_FALSE(is_valid({step(BPF_JMP | BPF_JA, 0xffffffff), kAllow}));
  EXPECT_FALSE(is_valid({step(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), kAllow}));
  EXPECT_FALSE(is_valid({step(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), kAllow}));
}

// Half of the filters are made only of what the kernel knows, so that their answers count. Cells are stored to first:
// the kernel follows all paths to a load.
TEST(FilterProgram, AnswersAsTheKernelDoes) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "one of 1,500 forks under the thread sanitizer may wait for ever; the test has one thread";
#endif
  constexpr std::uint16_t kKnown[] = {
      BPF_LD | BPF_W | BPF_ABS,
      BPF_LD | BPF_IMM,
      BPF_LDX | BPF_IMM,
      BPF_LD | BPF_MEM,
      BPF_LDX | BPF_MEM,
      BPF_ST,
      BPF_STX,
      BPF_LD | BPF_W | BPF_LEN,
      BPF_LDX | BPF_W | BPF_LEN,
      BPF_MISC | BPF_TAX,
      BPF_MISC | BPF_TXA,
      BPF_ALU | BPF_ADD | BPF_K,  // NOLINT(misc-redundant-expression): two of them are 0
      BPF_ALU | BPF_SUB | BPF_X,
      BPF_ALU | BPF_MUL | BPF_K,
      BPF_ALU | BPF_DIV | BPF_X,
      BPF_ALU | BPF_DIV | BPF_K,
      BPF_ALU | BPF_AND | BPF_X,
      BPF_ALU | BPF_OR | BPF_K,
      BPF_ALU | BPF_XOR | BPF_X,
      BPF_ALU | BPF_LSH | BPF_X,
      BPF_ALU | BPF_RSH | BPF_X,
      BPF_ALU | BPF_LSH | BPF_K,
      BPF_ALU | BPF_NEG,
      BPF_JMP | BPF_JA,
      BPF_JMP | BPF_JEQ | BPF_K,
      BPF_JMP | BPF_JGT | BPF_X,
      BPF_JMP | BPF_JGE | BPF_K,
      BPF_JMP | BPF_JSET | BPF_X,
      BPF_ALU | BPF_MOD | BPF_K,
      BPF_LD | BPF_B | BPF_ABS,
      BPF_RET | BPF_X,
  };
  constexpr std::size_t kForeign = 3;
  constexpr int kWanted = SYS_umask;  // does no harm, and nothing else calls it
  std::mt19937 random(20240707);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  int refused = 0;
  int denied = 0;
  int executed = 0;
  for (int round = 0; round < 1500; ++round) {
    const bool well_formed = round % 2 == 0;
    Steps steps{step(BPF_LD | BPF_W | BPF_ABS, 0), step(BPF_JMP | BPF_JEQ | BPF_K, kWanted, 1, 0), kAllow};
    for (std::uint32_t cell = 0; cell < BPF_MEMWORDS; ++cell) steps.push_back(step(BPF_ST, cell));
    const std::uint32_t body = 1 + below(12);
    for (std::uint32_t i = 0; i < body; ++i) {
      const std::uint16_t code = kKnown[below(std::size(kKnown) - (well_formed ? kForeign : 0))];
      const std::uint32_t left = body - i + 2;
      std::uint32_t k = well_formed ? 1 + below(15) : below(70);
      if (well_formed && code == (BPF_LD | BPF_W | BPF_ABS)) k = 16 + 4 * below(2);
      if (code == (BPF_LD | BPF_W | BPF_ABS) && (k == 8 || k == 12)) k = 9;  // the caller's address
      if (well_formed && code == (BPF_JMP | BPF_JA)) k = below(left);
      const std::uint32_t reach = well_formed ? left : left + 2;
      steps.push_back(step(code, k, static_cast<std::uint8_t>(below(reach)), static_cast<std::uint8_t>(below(reach))));
    }
    steps.push_back(step(BPF_JMP | BPF_JGT | BPF_K, below(64), 1, 0));
    steps.push_back(step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV));
    steps.push_back(kAllow);
    const std::uint32_t argument = below(64);
    const int wanted = kernel_answer(steps, kWanted, argument);
    ASSERT_EQ(own_answer(steps, kWanted, argument), wanted) << "round " << round;
    refused += wanted == kRefused;
    denied += wanted == EXDEV;
    executed += wanted == kExecuted;
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(denied, 100);
  EXPECT_GT(executed, 100);
}

}  // namespace
}  // namespace tare::trace
