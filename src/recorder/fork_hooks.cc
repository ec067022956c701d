// The interposed ways to fork: fork, _Fork, and syscall with the number of fork or clone.
#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>

#include "recorder/hook_names.h"
#include "recorder/real.h"
#include "recorder/realloc.h"
#include "recorder/record.h"
#include "recorder/syscall_hook.h"

namespace tare::recorder {
namespace {

// The parent notes the child. The child finds out by itself at its first event, and needs no spool if it execs before.
template <typename Fork>
long fork_by(const StartState& start, Fork fork) {
  Thread* const thread = this_thread;
  const bool is_alive = recorder.alive();
  const bool is_recorded = thread != nullptr && is_alive;
  if (is_alive) recorder.note_fork_begins(stamp());
  const long child = fork();
  if (child == 0 && is_recorded) recorder.part_from_parent(*thread);
  if (child > 0) record_fork(start, static_cast<std::uint32_t>(child));
  return child;
}

}  // namespace

TARE_HOOK_FUNCTION(int, fork, ()) {
  return static_cast<int>(fork_by(TARE_HERE, [] { return real.fork(); }));
}

TARE_HOOK_FUNCTION(int, _Fork, ()) {
  return static_cast<int>(fork_by(TARE_HERE, [] { return real._Fork(); }));
}

extern "C" __attribute__((visibility("hidden"), used)) long tare_known_call(long number, long first, long second,
                                                                            long third, long fourth, long fifth) {
  if (number != SYS_fork && number != SYS_clone) return confining_call(number, first, second, third, fourth, fifth);
  return fork_by(TARE_HERE, [&] { return real.syscall(number, first, second, third, fourth, fifth, 0); });
}

// Without a frame of its own: vfork and clone made by it return twice on one stack, and the child would write over the
// frame. A clone that shares no memory and asks for no other stack is a fork.
extern "C" __attribute__((naked, visibility("default"))) long tare_hook_syscall() __asm__("syscall");
extern "C" __attribute__((naked)) long tare_hook_syscall() {
  constexpr int kSharesMemory = 0x100;  // CLONE_VM
  __asm__ volatile(
      "cmpq %0, %%rdi\n\t"
      "je tare_known_call\n\t"
      "cmpq %1, %%rdi\n\t"
      "je tare_known_call\n\t"
      "cmpq %2, %%rdi\n\t"
      "je tare_known_call\n\t"
      "cmpq %3, %%rdi\n\t"
      "jne 1f\n\t"
      "testq %4, %%rsi\n\t"
      "jne 1f\n\t"
      "testq %%rdx, %%rdx\n\t"
      "je tare_known_call\n"
      "1:\n\t"
      "jmp *tare_real_functions+%c5(%%rip)"
      :
      : "i"(SYS_seccomp), "i"(SYS_prctl), "i"(SYS_fork), "i"(SYS_clone), "i"(kSharesMemory),
        "i"(offsetof(RealFunctions, syscall)));
}

}  // namespace tare::recorder
