// The detour in a stopped child that nobody calls anything in: it continues where it was, with all that it had.
#include "core/injection/detour.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "core/injection/code_gap.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kCodePage = 4096;
constexpr std::uint64_t kAreaBytes = 576 << 10;

enum Ending : int { kRight = 0, kWrongResult = 1, kWrongMask = 2, kWrongValues = 3 };

// The result of getpid() in the child, and whether the rest is as it was.
[[noreturn]] void behave_as_child() {
  sigset_t mask;
  sigset_t after;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  volatile double wide = 1.25;
  const double kept = wide * 3;
  const long pid = ::getpid();
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  const long sent = ::syscall(SYS_tgkill, pid, pid, SIGSTOP);
  ::sigprocmask(SIG_SETMASK, nullptr, &after);
  if (sent != 0) ::_exit(kWrongResult);
  if (!sigismember(&after, SIGUSR1) || sigismember(&after, SIGUSR2)) ::_exit(kWrongMask);
  ::_exit(kept == wide * 3 && ::getpid() == pid ? kRight : kWrongValues);
}

// How the child ends that is led onto the detour. `taken`: there is something at the address of its memory.
int ending_of_child(bool taken) {
  void* const page = ::mmap(nullptr, kCodePage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  DetourFacts facts{};
  facts.area = find_free_range(::getpid(), kAreaBytes);
  facts.area_bytes = kAreaBytes;
  facts.control = facts.area + kAreaBytes / 2;
  facts.blocked = ~std::uint64_t{0};
  facts.signals = std::uint64_t{1} << (SIGUSR1 - 1);
  // Not by mmap(): a sanitizer's function refuses addresses.
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (taken) ::syscall(SYS_mmap, facts.area, kCodePage, PROT_READ, kFlags, -1, 0);
  const pid_t child = ::fork();
  if (child == 0) behave_as_child();
  int status = 0;
  user_regs_struct stopped{};
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(::ptrace(PTRACE_GETREGS, child, nullptr, &stopped), 0);
  const std::vector<std::uint64_t> words = detour_of(facts, stopped);
  const auto at = reinterpret_cast<std::uint64_t>(page);
  for (std::size_t i = 0; i < words.size(); ++i) ::ptrace(PTRACE_POKEDATA, child, at + i * sizeof(words[i]), words[i]);
  user_regs_struct led = stopped;
  led.rip = at + kDetourPlaces.begin;
  EXPECT_EQ(::ptrace(PTRACE_SETREGS, child, nullptr, &led), 0);
  ::ptrace(PTRACE_DETACH, child, nullptr, 0);
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  ::munmap(page, kCodePage);
  if (taken) ::syscall(SYS_munmap, facts.area, kCodePage);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Detour, LeadsBackByItself) { EXPECT_EQ(ending_of_child(false), kRight); }

TEST(Detour, LeadsBackWithoutMemory) { EXPECT_EQ(ending_of_child(true), kRight); }

// The kernel subtracts the length of a system call's instruction from the first instruction's address.
TEST(Detour, HasAnEntryForACallThatIsMadeAgain) {
  user_regs_struct stopped{};
  stopped.rip = 0x12345678;
  const std::vector<std::uint64_t> words = detour_of({}, stopped);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(words.data());
  EXPECT_EQ(bytes[kDetourPlaces.begin - 2], 0xeb);  // jmp, of two bytes
  EXPECT_LT(bytes[kDetourPlaces.begin - 1], 0x80);
  const auto* const facts = reinterpret_cast<const DetourFacts*>(words.data());
  EXPECT_EQ(facts->magic, kDetourMagic);
  EXPECT_EQ(facts->rip, stopped.rip);
  EXPECT_EQ(facts->rip_again, stopped.rip - 2);
}

}  // namespace
}  // namespace tare::core
