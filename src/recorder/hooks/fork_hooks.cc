// The interposed ways to fork: fork, _Fork, and syscall with the number of fork, clone or clone3.
#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>

#include "recorder/events/record.h"
#include "recorder/hooks/hook_names.h"
#include "recorder/hooks/real.h"
#include "recorder/hooks/realloc.h"
#include "recorder/hooks/syscall_hook.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {
namespace {

using arch::kSharesMemory;

enum class Memory : std::uint8_t { Copied, MayBeShared };

// The parent notes the child. The child finds out by itself at its first event, and needs no spool if it execs before.
template <typename Fork>
long fork_by(const StartState& start, Memory kind, Fork fork) {
  Thread* const thread = this_thread;
  const bool is_alive = recorder.alive();
  const bool is_recorded = thread != nullptr && is_alive;
  if (is_alive) recorder.note_fork_begins(stamp());
  const long child = fork();
  if (child == 0 && kind == Memory::Copied) recorder.wipe_page_in_child();
  if (child == 0 && is_recorded) recorder.part_from_parent(*thread);
  if (child > 0) record_fork(start, static_cast<std::uint32_t>(child));
  return child;
}

}  // namespace

TARE_HOOK_FUNCTION(int, fork, ()) {
  return static_cast<int>(fork_by(TARE_HERE, Memory::Copied, [] { return real.fork(); }));
}

TARE_HOOK_FUNCTION(int, _Fork, ()) {
  return static_cast<int>(fork_by(TARE_HERE, Memory::Copied, [] { return real._Fork(); }));
}

extern "C" __attribute__((visibility("hidden"), used)) long tare_known_call(long number, long first, long second,
                                                                            long third, long fourth, long fifth) {
  if (!arch::is_plain_fork(number) && number != SYS_clone && number != SYS_clone3)
    return confining_call(number, first, second, third, fourth, fifth);
  return fork_by(TARE_HERE, Memory::MayBeShared,
                 [&] { return real.syscall(number, first, second, third, fourth, fifth, 0); });
}

// clone3() that shares no memory and has no stack of its own. Programs call it with a null pointer to check that the
// kernel has it.
extern "C" __attribute__((visibility("hidden"), used)) bool tare_clone3_is_fork(const std::uint64_t* arguments,
                                                                                std::uint64_t bytes) {
  constexpr std::uint64_t kFirstVersionBytes = 64;
  constexpr int kFlags = 0;
  constexpr int kStack = 5;
  const auto address = reinterpret_cast<std::uint64_t>(arguments);
  if (bytes < kFirstVersionBytes || address % 8 != 0) return false;
  if (!probe_readable(address) || !probe_readable(address + kFirstVersionBytes - 8)) return false;
  return (arguments[kFlags] & kSharesMemory) == 0 && arguments[kStack] == 0;
}

// Without a frame of its own: vfork and clone made by it return twice on one stack, and the child would write over the
// frame. A clone that shares no memory and has no stack of its own is a fork.
extern "C" __attribute__((naked, visibility("default"))) long tare_hook_syscall() __asm__("syscall");
extern "C" __attribute__((naked)) long tare_hook_syscall() { TARE_SYSCALL_HOOK; }

}  // namespace tare::recorder
