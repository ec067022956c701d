// The handler, and the program's own action behind it: see bus_errors.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/process/bus_errors.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include <ucontext.h>

#include "recorder/base/bounded_lock.h"
#include "recorder/base/syscall.h"
#include "recorder/hooks/real.h"
#include "recorder/recorder.h"

namespace tare::recorder {

namespace {

// The kernel's form of a mask that blocks all signals but SIGBUS: it removes SIGKILL and SIGSTOP. The C library lets no
// program block its two internal signals, so no program has this mask.
constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }
constexpr std::uint64_t kAllButBusErrors = ~(bit_of(SIGBUS) | bit_of(SIGKILL) | bit_of(SIGSTOP));

// The program's action is at `newest`. A handler on another thread may copy an entry while the action changes; the
// entry is overwritten after seven more changes.
constexpr std::uint32_t kActions = 8;
constinit struct sigaction actions[kActions] = {};
constinit std::atomic<std::uint32_t> newest{0};
constinit std::atomic<bool> stands{false};
constinit BoundedLock lock;

const struct sigaction& programs_action() { return actions[newest.load(std::memory_order_acquire)]; }

void keep(const struct sigaction& action) {
  const std::uint32_t next = (newest.load(std::memory_order_relaxed) + 1) % kActions;
  actions[next] = action;
  newest.store(next, std::memory_order_release);
}

bool is_fault(const siginfo_t& info) { return info.si_code > 0 && info.si_code != BUS_MCEERR_AO; }

// The signal arrives again as soon as the thread unblocks it.
void send_again(siginfo_t* info) {
  sys::call(SYS_rt_tgsigqueueinfo, sys::getpid(), sys::gettid(), SIGBUS, sys::word(info));
}

// If the signal was sent during a critical section of the recorder, it waits for the section's end like all others.
bool put_off(siginfo_t* info, ucontext_t* context) {
  std::uint64_t mask;
  std::memcpy(&mask, &context->uc_sigmask, sizeof(mask));
  if (mask != kAllButBusErrors) return false;
  mask |= bit_of(SIGBUS);
  std::memcpy(&context->uc_sigmask, &mask, sizeof(mask));
  send_again(info);
  return true;
}

void perform_programs_action(int signal, siginfo_t* info, void* context) {
  struct sigaction action = programs_action();
  if (action.sa_handler == SIG_DFL) {
    // The instruction is executed again, or the signal arrives again, and ends the process as without a recorder.
    if (real.sigaction(SIGBUS, &action, nullptr) != 0) __builtin_trap();
    if (!is_fault(*info)) send_again(info);
    return;
  }
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction once_more = action;
    once_more.sa_handler = SIG_DFL;
    keep(once_more);
  }
  action.sa_sigaction(signal, info, context);  // the kernel passes all three to handlers of the short form, too
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  if (is_fault(*info)) {
    if (recorder.outlive_cut_file(reinterpret_cast<std::uint64_t>(info->si_addr))) return;
  } else if (put_off(info, static_cast<ucontext_t*>(context))) {
    return;
  }
  perform_programs_action(signal, info, context);
}

// The action for the kernel, in front of `programs`.
struct sigaction in_front_of(const struct sigaction& programs) {
  struct sigaction action = programs;
  action.sa_sigaction = on_bus_error;
  action.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  action.sa_flags |= SA_SIGINFO;
  if (programs.sa_handler == SIG_DFL) action.sa_flags |= SA_ONSTACK | SA_RESTART;
  return action;
}

}  // namespace

void stand_in_front_of_bus_errors() {
  if (stands.load(std::memory_order_acquire) || real.sigaction == nullptr) return;
  struct sigaction before = {};
  if (real.sigaction(SIGBUS, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  keep(before);
  const struct sigaction action = in_front_of(before);
  if (real.sigaction(SIGBUS, &action, nullptr) != 0) return;
  sys::blocked_signals = ~bit_of(SIGBUS);
  stands.store(true, std::memory_order_release);
}

int change_bus_action(const struct sigaction* wanted, struct sigaction* before) {
  if (!stands.load(std::memory_order_acquire)) return real.sigaction(SIGBUS, wanted, before);
  const sys::SignalsBlocked blocked;
  const bool is_locked = lock.lock();
  struct sigaction now = {};
  int result = real.sigaction(SIGBUS, nullptr, &now);
  // Another action is in force if a system call set it, or if it ignores the signal.
  if (now.sa_sigaction == on_bus_error) now = programs_action();
  if (result == 0 && wanted != nullptr) {
    // The child of a vfork has actions of its own, but not the memory. It executes another program soon.
    if (wanted->sa_handler == SIG_IGN || recorder.borrows_memory()) {
      result = real.sigaction(SIGBUS, wanted, nullptr);
    } else {
      const std::uint32_t former = newest.load(std::memory_order_relaxed);
      struct sigaction kept = *wanted;
      kept.sa_flags |= arch::kRestorer;
      keep(kept);
      const struct sigaction action = in_front_of(*wanted);
      result = real.sigaction(SIGBUS, &action, nullptr);
      if (result != 0) newest.store(former, std::memory_order_release);
    }
  }
  if (result == 0 && before != nullptr) *before = now;
  if (is_locked) lock.unlock();
  return result;
}

}  // namespace tare::recorder
