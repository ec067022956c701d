// Filters of several kinds beside the recorder's calls.
#include "core/injection/filter_check.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "trace/filters/recorder_calls.h"

namespace tare::core {
namespace {

using Filter = std::vector<sock_filter>;

constexpr sock_filter kLoadNumber BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
constexpr sock_filter kAllow BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

sock_filter answer(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

sock_filter unless_number(int number) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1);
}

Filter denying(int number, std::uint32_t action) {
  return {kLoadNumber, unless_number(number), answer(action), kAllow};
}

std::vector<int> all_numbers() {
  std::vector<int> numbers;
  for (const trace::FilteredCall& call : trace::kLoadingCalls) numbers.push_back(call.number);
  for (const trace::FilteredCall& call : trace::kRecorderCalls) numbers.push_back(call.number);
  return numbers;
}

TEST(FilterCheck, AFilterThatIsOpenPasses) {
  EXPECT_EQ(refused_call({kAllow}), std::nullopt);
  EXPECT_EQ(refused_call({answer(SECCOMP_RET_LOG)}), std::nullopt);
  EXPECT_EQ(refused_call(denying(SYS_reboot, SECCOMP_RET_KILL_PROCESS)), std::nullopt);
}

TEST(FilterCheck, EachCallOfTheRecorderIsCompared) {
  for (const int number : all_numbers()) {
    for (const std::uint32_t action : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP,
                                       SECCOMP_RET_TRACE, SECCOMP_RET_USER_NOTIF}) {
      EXPECT_EQ(refused_call(denying(number, action)), number) << action;
    }
  }
}

// The recorder handles errors, except those of the call by which it checks addresses.
TEST(FilterCheck, ErrorsPass) {
  for (const int number : all_numbers()) {
    const std::optional<int> expected = number == SYS_rt_sigprocmask ? std::optional(number) : std::nullopt;
    EXPECT_EQ(refused_call(denying(number, SECCOMP_RET_ERRNO | 1)), expected);
  }
}

TEST(FilterCheck, AnAllowListNeedsAllOfThem) {
  const std::vector<int> numbers = all_numbers();
  const auto listing = [&](int left_out) {
    Filter filter{kLoadNumber};
    for (const int number : numbers) {
      if (number == left_out) continue;
      filter.push_back(unless_number(number));
      filter.push_back(kAllow);
    }
    filter.push_back(answer(SECCOMP_RET_KILL_PROCESS));
    return filter;
  };
  EXPECT_EQ(refused_call(listing(-1)), std::nullopt);
  for (const int number : numbers) EXPECT_EQ(refused_call(listing(number)), number);
}

TEST(FilterCheck, ArgumentsAreCompared) {
  const Filter no_code{kLoadNumber,
                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
                       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
                       BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
                       answer(SECCOMP_RET_KILL_PROCESS),
                       kAllow};
  EXPECT_EQ(refused_call(no_code), SYS_mmap);
  const Filter other_machine{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
                             answer(SECCOMP_RET_KILL_PROCESS), kAllow};
  EXPECT_EQ(refused_call(other_machine), std::nullopt);
}

TEST(FilterCheck, AnUnknownFormIsRefused) {
  EXPECT_EQ(refused_call({}), -1);
  EXPECT_EQ(refused_call({kLoadNumber}), -1);
  EXPECT_EQ(refused_call({BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, 9), kAllow}), -1);
}

}  // namespace
}  // namespace tare::core
