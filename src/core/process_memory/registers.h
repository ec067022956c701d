// The registers of a stopped thread. Each machine has its own names for them.
#pragma once

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <cstdint>
#include <vector>

namespace tare::core {

// False: the thread isn't stopped by this tracer, or is gone.
inline bool read_registers(pid_t tid, user_regs_struct& registers) {
  iovec room{&registers, sizeof(registers)};
  return ::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &room) == 0;
}

inline std::uint64_t stack_pointer_of(const user_regs_struct& registers) {
#if defined(__x86_64__)
  return registers.rsp;
#else
  return registers.sp;
#endif
}

// Those that may hold a pointer to a block: all but the stack pointer and the place in the code.
inline std::vector<std::uint64_t> pointers_of(const user_regs_struct& registers) {
#if defined(__x86_64__)
  return {registers.rax, registers.rbx, registers.rcx, registers.rdx, registers.rsi,
          registers.rdi, registers.rbp, registers.r8,  registers.r9,  registers.r10,
          registers.r11, registers.r12, registers.r13, registers.r14, registers.r15};
#else
  return {std::begin(registers.regs), std::end(registers.regs)};
#endif
}

// Where the thread-local storage of a stopped thread is; 0: unknown.
inline std::uint64_t thread_pointer_of([[maybe_unused]] pid_t tid, [[maybe_unused]] const user_regs_struct& registers) {
#if defined(__x86_64__)
  return registers.fs_base;
#else
  std::uint64_t pointer = 0;
  iovec room{&pointer, sizeof(pointer)};
  return ::ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &room) == 0 ? pointer : 0;
#endif
}

}  // namespace tare::core
