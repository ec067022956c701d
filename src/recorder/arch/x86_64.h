// x86-64: instructions that C++ has no words for, and where a call leaves the return address.
#pragma once

#include <atomic>
#include <cstdint>

#include <cpuid.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include "trace/spool/ticks.h"

// A hook's caller right after the call: the return address and the caller's rbp lie below the CFA.
#define TARE_CALLERS_SP (reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) + 16)

// Aligns the function's frame to 16 bytes. Functions that move 16 bytes to or from their frame need this, because the
// program's stack may be aligned to 8 bytes only. See src/recorder/CMakeLists.txt.
#define TARE_REALIGNED __attribute__((force_align_arg_pointer))

namespace tare::recorder::arch {

inline void pause() { __builtin_ia32_pause(); }

inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline constexpr std::uint32_t kAuditArch = AUDIT_ARCH_X86_64;  // of system calls in seccomp filters

// The recorder lays its memory out in pages of 4 KiB.
constexpr bool has_usual_pages() { return true; }

// ---- stamps

// Ticks of the TSC: it may be read early. `..._after_loads` is not executed before the loads in front of it.
using trace::ticks;
inline std::uint64_t ticks_after_loads() {
  unsigned processor;
  return __builtin_ia32_rdtscp(&processor);
}

// Do ticks have the same rate on all cores in all sleep states?
inline bool has_even_ticks() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool known = __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0;
  return known && (edx & (1u << 8)) != 0;
}

// Single-threaded events are stamped when this much has passed since the last stamp: 0.2 to 0.5 ms on TSCs of 2 to 5
// GHz.
inline constexpr std::uint64_t kStampGap = 1'000'000;

// ---- words that a signal handler on the same thread changes, too: one instruction each

__attribute__((always_inline)) inline void add(std::int64_t& word, std::int64_t step) {
  __asm__("addq %1, %0" : "+m"(word) : "r"(step) : "cc");
}
__attribute__((always_inline)) inline void subtract_one(std::int64_t& word) {
  __asm__("subq $1, %0" : "+m"(word) : : "cc");
}
// False: it's below zero now.
__attribute__((always_inline)) inline bool subtract(std::int64_t& word, std::int64_t step) {
  __asm__ goto("subq %1, %0\n\tjs %l2" : : "m"(word), "r"(step) : "cc", "memory" : is_below);
  return true;
is_below:
  return false;
}
// Compared in memory, which the compiler doesn't do with a volatile word: an instruction less.
template <std::uint32_t kValue>
__attribute__((always_inline)) inline bool equals(const volatile std::uint32_t& word) {
  __asm__ goto("cmpl %1, %0\n\tjne %l2" : : "m"(word), "i"(kValue) : "cc", "memory" : no);
  return true;
no:
  return false;
}

__attribute__((always_inline)) inline bool is_zero(const std::atomic<std::uint8_t>& byte) {
  __asm__ goto("cmpb $0, %0\n\tjne %l1" : : "m"(byte) : "cc", "memory" : no);
  return true;
no:
  return false;
}

// ---- stacks

// Reads a word of another function's frame. In assembler, because sanitizers would object to it.
inline std::uint64_t load(std::uint64_t address) {
  std::uint64_t value = 0;
  __asm__("movq %1, %0" : "=r"(value) : "m"(*reinterpret_cast<const std::uint64_t*>(address)));
  return value;
}

// DWARF register numbers: stack pointer, frame pointer, the return address, and the place in the code that goes with
// the other registers. Here the return address becomes that place.
inline constexpr int kSp = 7, kFp = 6, kReturn = 16, kPc = 16;
inline constexpr int kRegisters = 17;

inline constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 47;    // of addresses that a program can have
inline constexpr std::uint64_t kNoCodeBit = std::uint64_t{1} << 47;  // no return address has it
inline bool is_code(std::uint64_t address) { return address - 1 < kUserEnd - 1; }

// A call pushes the return address, so it lies at the same place of each frame. Nothing signs it.
inline constexpr bool kCallPushes = true;
constexpr std::uint64_t code_address(std::uint64_t word) { return word; }
constexpr std::uint64_t return_slot(std::uint64_t cfa, std::int64_t /*fp_offset*/) { return cfa - 8; }
// Is a frame's return address where return_slot() has it? `fp_offset`: where the caller's frame pointer is saved.
constexpr bool return_is_in_slot(std::int64_t return_offset, bool /*saves_fp*/, std::int64_t& /*fp_offset*/) {
  return return_offset == -8;
}

// Does a call end here? `word`: the eight bytes before it.
inline bool follows_call(std::uint64_t word) {
  std::uint8_t bytes[8];
  __builtin_memcpy(bytes, &word, sizeof(bytes));
  if (bytes[3] == 0xe8) return true;  // call rel32
  for (int at = 1; at <= 6; ++at) {   // call r/m64: ff /2, two to seven bytes
    if (bytes[at] == 0xff && (bytes[at + 1] & 0x38) == 0x10) return true;
  }
  return false;
}

// Where Linux puts the interrupted registers, from the stack pointer in the code that returns from a signal (struct
// rt_sigframe). Unwind tables describe that code.
inline constexpr std::int64_t kSignalFp = 120, kSignalSp = 160, kSignalPc = 168;
inline constexpr int kRestorer = 0x04000000;  // SA_RESTORER: the C library sets it with each action
inline constexpr bool kSignalFrameByCode = false;
constexpr bool returns_from_signal(std::uint64_t /*code*/) { return false; }
constexpr void read_interrupted(std::uint64_t /*signal_sp*/, std::uint64_t (& /*value*/)[kRegisters]) {}

// The caller of a function at address 0, which has no code: nothing has run since the call.
inline void leave_null_call(std::uint64_t& pc, std::uint64_t& sp, std::uint64_t /*signal_sp*/) {
  pc = load(sp);
  sp += 8;
}

// Only the registers that a callee must preserve; the others are lost in any case. pc + 1, as if interrupted here.
__attribute__((always_inline)) inline void read_registers(std::uint64_t (&value)[kRegisters]) {
  __asm__ volatile(
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\t"
      "leaq 1+0(%%rip), %%rcx\n\t"
      "movq %%rcx, 128(%0)"
      :
      : "r"(value)
      : "rcx", "memory");
}

// ---- hooks without a frame of their own

inline constexpr int kSharesMemory = 0x100;  // CLONE_VM
inline bool is_plain_fork(long number) { return number == SYS_fork; }

// Functions of others can be replaced: see foreign/entry_patch.h.
inline constexpr bool kReplacesFunctions = true;

}  // namespace tare::recorder::arch

// syscall(): see hooks/fork_hooks.cc.
#define TARE_SYSCALL_HOOK                                                                                            \
  __asm__ volatile(                                                                                                  \
      "cmpq %0, %%rdi\n\t"                                                                                           \
      "je tare_known_call\n\t"                                                                                       \
      "cmpq %1, %%rdi\n\t"                                                                                           \
      "je tare_known_call\n\t"                                                                                       \
      "cmpq %2, %%rdi\n\t"                                                                                           \
      "je tare_known_call\n\t"                                                                                       \
      "cmpq %3, %%rdi\n\t"                                                                                           \
      "jne 1f\n\t"                                                                                                   \
      "testq %4, %%rsi\n\t"                                                                                          \
      "jne 1f\n\t"                                                                                                   \
      "testq %%rdx, %%rdx\n\t"                                                                                       \
      "je tare_known_call\n"                                                                                         \
      "1:\n\t"                                                                                                       \
      "cmpq %6, %%rdi\n\t"                                                                                           \
      "jne 2f\n\t"                                                                                                   \
      "pushq %%rdi\n\t"                                                                                              \
      "pushq %%rsi\n\t"                                                                                              \
      "pushq %%rdx\n\t"                                                                                              \
      "pushq %%rcx\n\t"                                                                                              \
      "pushq %%r8\n\t"                                                                                               \
      "pushq %%r9\n\t"                                                                                               \
      "subq $8, %%rsp\n\t"                                                                                           \
      "movq %%rsi, %%rdi\n\t"                                                                                        \
      "movq %%rdx, %%rsi\n\t"                                                                                        \
      "call tare_clone3_is_fork\n\t"                                                                                 \
      "addq $8, %%rsp\n\t"                                                                                           \
      "popq %%r9\n\t"                                                                                                \
      "popq %%r8\n\t"                                                                                                \
      "popq %%rcx\n\t"                                                                                               \
      "popq %%rdx\n\t"                                                                                               \
      "popq %%rsi\n\t"                                                                                               \
      "popq %%rdi\n\t"                                                                                               \
      "testb %%al, %%al\n\t"                                                                                         \
      "jne tare_known_call\n"                                                                                        \
      "2:\n\t"                                                                                                       \
      "jmp *tare_real_functions+%c5(%%rip)"                                                                          \
      :                                                                                                              \
      : "i"(SYS_seccomp), "i"(SYS_prctl), "i"(SYS_fork), "i"(SYS_clone), "i"(::tare::recorder::arch::kSharesMemory), \
        "i"(offsetof(RealFunctions, syscall)), "i"(SYS_clone3))

// dlopen() without RTLD_DEEPBIND: see hooks/deep_binding.cc.
#define TARE_DLOPEN_HOOK                    \
  __asm__ volatile(                         \
      "andl %0, %%esi\n\t"                  \
      "jmp *tare_real_functions+%c1(%%rip)" \
      :                                     \
      : "i"(~RTLD_DEEPBIND), "i"(offsetof(tare::recorder::RealFunctions, dlopen)))

// An operator's symbol, its slot and its look-up: see hooks/operators.cc.
#define TARE_OPERATOR_ENTRY(symbol)                                                 \
  __asm__(                                                                          \
      ".pushsection .text\n"                                                        \
      ".globl " #symbol "\n.type " #symbol ",@function\n.p2align 4\n" #symbol       \
      ":\n"                                                                         \
      ".cfi_startproc\n endbr64\n jmp *tare_slot_" #symbol                          \
      "(%rip)\n.cfi_endproc\n"                                                      \
      ".size " #symbol ", .-" #symbol                                               \
      "\n"                                                                          \
      ".p2align 4\ntare_look_up_" #symbol                                           \
      ":\n"                                                                         \
      ".cfi_startproc\n endbr64\n push $((tare_slot_" #symbol                       \
      " - tare_operator_slots) / 8)\n"                                              \
      ".cfi_adjust_cfa_offset 8\n jmp tare_operator_look_up_common\n.cfi_endproc\n" \
      ".popsection\n"                                                               \
      ".pushsection .data\n.p2align 3\ntare_slot_" #symbol ": .quad tare_look_up_" #symbol "\n.popsection\n");

// On the stack: number of the operator, return address. The arguments are kept for the operator itself.
#define TARE_OPERATOR_LOOK_UP                          \
  __asm__(                                             \
      ".pushsection .text\n"                           \
      ".type tare_operator_look_up_common,@function\n" \
      "tare_operator_look_up_common:\n"                \
      ".cfi_startproc\n"                               \
      ".cfi_def_cfa_offset 16\n"                       \
      "push %rdi\n.cfi_adjust_cfa_offset 8\n"          \
      "push %rsi\n.cfi_adjust_cfa_offset 8\n"          \
      "push %rdx\n.cfi_adjust_cfa_offset 8\n"          \
      "push %rcx\n.cfi_adjust_cfa_offset 8\n"          \
      "mov 32(%rsp), %edi\n"                           \
      "call tare_look_up_operator\n"                   \
      "pop %rcx\n.cfi_adjust_cfa_offset -8\n"          \
      "pop %rdx\n.cfi_adjust_cfa_offset -8\n"          \
      "pop %rsi\n.cfi_adjust_cfa_offset -8\n"          \
      "pop %rdi\n.cfi_adjust_cfa_offset -8\n"          \
      "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"      \
      "jmp *%rax\n"                                    \
      ".cfi_endproc\n"                                 \
      ".popsection\n");
