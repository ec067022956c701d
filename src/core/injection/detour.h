// A detour of a thread of another process: code that calls functions for a launcher, and then lets the thread continue
// where it was, with its registers and signals. No step needs the launcher: if it is killed, the thread completes the
// call that it is in, and continues.
//
// The code lies where a library's last page of code has room (code_gap.h). It takes memory of its own for a stack, and
// stops at system calls that do nothing. There the launcher puts the next call into the memory. Without a call, the
// code returns the memory and leaves.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tare::core {

inline constexpr std::uint64_t kDetourMagic = 0x31525544'45524154;  // "TAREDUR1"

// At the beginning of the detour, in front of its code, which reads and never writes it.
struct DetourFacts {
  std::uint64_t magic;
  std::uint64_t area;  // of its memory, unmapped so far
  std::uint64_t area_bytes;
  std::uint64_t control;  // address of DetourControl in the area; the stack ends there
  std::uint64_t blocked;  // signals meanwhile
  std::uint64_t signals;  // blocked ones afterwards
  std::uint64_t flags;    // registers afterwards
  std::uint64_t rip, rsp;
  std::uint64_t rip_again;  // the instruction of the system call in which the thread is
  std::uint64_t rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
};

struct DetourControl {
  std::uint64_t function;  // the next call; 0: leave
  std::uint64_t arguments[5];
  std::uint64_t result;
  std::uint64_t calls;     // that have returned
  std::uint64_t errno_at;  // where errno is put back; 0: nowhere
  std::uint64_t errno_value;
  std::uint64_t rax;    // afterwards
  std::uint64_t again;  // 1: the thread continues at rip_again
  std::uint64_t reserved[4];
  // Behind it: floating point and vector registers.
};
static_assert(sizeof(DetourFacts) == 192 && sizeof(DetourControl) == 128);

// Places in the code, as distances from the detour's beginning.
struct DetourPlaces {
  std::uint64_t begin;            // where the kernel prepares the interrupted system call
  std::uint64_t after_call_stop;  // behind the system call before each function
  std::uint64_t leave;            // with the control's address in rbx
  std::uint64_t after_end_stop;   // the memory is returned, and the signals are still blocked
};
extern const DetourPlaces kDetourPlaces;

// Words of the detour of a stopped thread. `facts`: all but the registers afterwards.
std::vector<std::uint64_t> detour_of(const DetourFacts& facts, const user_regs_struct& stopped);
std::size_t detour_bytes();

}  // namespace tare::core
