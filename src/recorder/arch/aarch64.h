// aarch64: instructions that C++ has no words for, and where functions keep the return address.
#pragma once

#include <atomic>
#include <cstdint>

#include <linux/audit.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "trace/spool/ticks.h"

// A hook's caller right after the call. The frame record (x29, x30) may lie anywhere in a frame.
#if defined(__clang__)
#define TARE_CALLERS_SP (reinterpret_cast<std::uint64_t>(__builtin_sponentry()))
#else
#define TARE_CALLERS_SP (reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()))
#endif

#define TARE_REALIGNED  // the machine itself demands a stack aligned to 16 bytes

namespace tare::recorder::arch {

inline void pause() { __asm__ volatile("yield"); }

inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

inline constexpr std::uint32_t kAuditArch = AUDIT_ARCH_AARCH64;  // of system calls in seccomp filters

// The recorder lays its memory out in pages of 4 KiB. Kernels may be built for 16 or 64.
inline bool has_usual_pages() { return getauxval(AT_PAGESZ) == 4096; }

// ---- stamps

// Ticks of the generic timer: it may be read early. `..._after_loads` is not executed before the loads in front of it.
using trace::ticks;
inline std::uint64_t ticks_after_loads() {
  std::uint64_t value;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
  return value;
}

// All cores read the same counter. Under qemu it stands still for a microsecond, in which blocks go from one thread to
// another: CLOCK_MONOTONIC is finer there. Machines count in steps of 1 to 42 ns.
inline bool has_even_ticks() {
  constexpr int kSteps = 4;
  constexpr int kMostReads = 10'000;
  constexpr std::uint64_t kLongestStepHz = 5'000'000;
  std::uint64_t frequency;
  __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
  std::uint64_t before = ticks();
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int reads = 0, steps = 0; reads < kMostReads && steps < kSteps; ++reads) {
    const std::uint64_t now = ticks();
    if (now == before) continue;
    if (now - before < shortest) shortest = now - before;
    before = now;
    ++steps;
  }
  return shortest <= 1 || shortest <= frequency / kLongestStepHz;
}

// Single-threaded events are stamped when this much has passed since the last stamp: 10 ms on counters of 25 MHz, 0.25
// ms on those of 1 GHz.
inline constexpr std::uint64_t kStampGap = 250'000;

// ---- words that a signal handler on the same thread changes, too

__attribute__((always_inline)) inline void add(std::int64_t& word, std::int64_t step) {
  __atomic_fetch_add(&word, step, __ATOMIC_RELAXED);
}
__attribute__((always_inline)) inline void subtract_one(std::int64_t& word) { add(word, -1); }
// False: it's below zero now.
__attribute__((always_inline)) inline bool subtract(std::int64_t& word, std::int64_t step) {
  return __atomic_sub_fetch(&word, step, __ATOMIC_RELAXED) >= 0;
}
template <std::uint32_t kValue>
__attribute__((always_inline)) inline bool equals(const volatile std::uint32_t& word) {
  return word == kValue;
}
__attribute__((always_inline)) inline bool is_zero(const std::atomic<std::uint8_t>& byte) {
  return byte.load(std::memory_order_relaxed) == 0;
}

// ---- stacks

// Reads a word of another function's frame. In assembler, because sanitizers would object to it.
inline std::uint64_t load(std::uint64_t address) {
  std::uint64_t value = 0;
  __asm__("ldr %0, %1" : "=r"(value) : "m"(*reinterpret_cast<const std::uint64_t*>(address)));
  return value;
}

// DWARF register numbers: stack pointer, frame pointer, the return address (the link register), and the place in the
// code that goes with the other registers.
inline constexpr int kSp = 31, kFp = 29, kReturn = 30, kPc = 32;
inline constexpr int kRegisters = 33;

// Programs get larger addresses only where they ask for one above 2^48.
inline constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kNoCodeBit = 2;  // instructions have four bytes; an interrupted address is stored + 1
inline bool is_code(std::uint64_t address) { return address - 1 < kUserEnd - 1 && (address & kNoCodeBit) == 0; }

// A call leaves the return address in x30. A function that calls others stores it, signed in its upper bits where
// the program is compiled so: nearly always beside x29, as a frame record.
inline constexpr bool kCallPushes = false;
constexpr std::uint64_t code_address(std::uint64_t word) { return word & (kUserEnd - 1); }
constexpr std::uint64_t return_slot(std::uint64_t cfa, std::int64_t fp_offset) {
  return cfa + static_cast<std::uint64_t>(fp_offset) + 8;
}
// Is a frame's return address where return_slot() has it? `fp_offset`: where the caller's frame pointer is saved; where
// it isn't, this sets it.
constexpr bool return_is_in_slot(std::int64_t return_offset, bool saves_fp, std::int64_t& fp_offset) {
  if (!saves_fp) fp_offset = return_offset - 8;
  return return_offset == fp_offset + 8;
}

// Does a call end here? `word`: the eight bytes before it.
constexpr bool follows_call(std::uint64_t word) {
  const auto code = static_cast<std::uint32_t>(word >> 32);
  const bool is_bl = (code & 0xfc000000) == 0x94000000;
  const bool is_blr = (code & 0xfffffc1f) == 0xd63f0000;
  const bool is_signed_blr = (code & 0xfefff800) == 0xd63f0800;  // blraa, blraaz, blrab, blrabz
  return is_bl || is_blr || is_signed_blr;
}

// Where Linux puts the interrupted registers, from the stack pointer in the code that returns from a signal (struct
// rt_sigframe). Unwind tables don't describe that code: it is known by its two instructions.
inline constexpr std::int64_t kSignalX0 = 312;
inline constexpr std::int64_t kSignalFp = kSignalX0 + 8 * kFp, kSignalReturn = kSignalX0 + 8 * kReturn,
                              kSignalSp = kSignalX0 + 8 * kSp, kSignalPc = kSignalX0 + 8 * kPc;
inline constexpr int kRestorer = 0;  // the C library leaves it to the kernel
inline constexpr bool kSignalFrameByCode = true;
constexpr bool returns_from_signal(std::uint64_t code) { return code == 0xd4000001d2801168; }  // mov x8, #139; svc #0
inline void read_interrupted(std::uint64_t signal_sp, std::uint64_t (&value)[kRegisters]) {
  for (int i = 0; i < kRegisters; ++i) value[i] = load(signal_sp + kSignalX0 + 8 * static_cast<std::uint64_t>(i));
}

// The caller of a function at address 0, which has no code: nothing has run since the call.
inline void leave_null_call(std::uint64_t& pc, std::uint64_t& /*sp*/, std::uint64_t signal_sp) {
  pc = code_address(load(signal_sp + kSignalReturn));
}

// Only the registers that a callee must preserve; the others are lost in any case. pc + 1, as if interrupted here.
__attribute__((always_inline)) inline void read_registers(std::uint64_t (&value)[kRegisters]) {
  __asm__ volatile(
      "stp x19, x20, [%0, #152]\n\t"
      "stp x21, x22, [%0, #168]\n\t"
      "stp x23, x24, [%0, #184]\n\t"
      "stp x25, x26, [%0, #200]\n\t"
      "stp x27, x28, [%0, #216]\n\t"
      "stp x29, x30, [%0, #232]\n\t"
      "mov x9, sp\n\t"
      "adr x10, .\n\t"
      "add x10, x10, #1\n\t"
      "stp x9, x10, [%0, #248]"
      :
      : "r"(value)
      : "x9", "x10", "memory");
}

// ---- hooks without a frame of their own

inline constexpr int kSharesMemory = 0x100;                   // CLONE_VM
inline bool is_plain_fork(long /*number*/) { return false; }  // there's no such call

// Functions of others can't be replaced: see foreign/entry_patch.h.
inline constexpr bool kReplacesFunctions = false;

}  // namespace tare::recorder::arch

// syscall(): see hooks/fork_hooks.cc. hint #34: bti c; #25 and #29: paciasp, autiasp.
#define TARE_SYSCALL_HOOK                                                                             \
  __asm__ volatile(                                                                                   \
      "hint #34\n\t"                                                                                  \
      "cmp x0, %0\n\t"                                                                                \
      "b.eq tare_known_call\n\t"                                                                      \
      "cmp x0, %1\n\t"                                                                                \
      "b.eq tare_known_call\n\t"                                                                      \
      "cmp x0, %2\n\t"                                                                                \
      "b.ne 1f\n\t"                                                                                   \
      "tst x1, %3\n\t"                                                                                \
      "b.ne 1f\n\t"                                                                                   \
      "cbz x2, tare_known_call\n"                                                                     \
      "1:\n\t"                                                                                        \
      "cmp x0, %5\n\t"                                                                                \
      "b.ne 2f\n\t"                                                                                   \
      "hint #25\n\t"                                                                                  \
      "stp x29, x30, [sp, #-80]!\n\t"                                                                 \
      "mov x29, sp\n\t"                                                                               \
      "stp x0, x1, [sp, #16]\n\t"                                                                     \
      "stp x2, x3, [sp, #32]\n\t"                                                                     \
      "stp x4, x5, [sp, #48]\n\t"                                                                     \
      "str x6, [sp, #64]\n\t"                                                                         \
      "mov x0, x1\n\t"                                                                                \
      "mov x1, x2\n\t"                                                                                \
      "bl tare_clone3_is_fork\n\t"                                                                    \
      "mov w9, w0\n\t"                                                                                \
      "ldp x0, x1, [sp, #16]\n\t"                                                                     \
      "ldp x2, x3, [sp, #32]\n\t"                                                                     \
      "ldp x4, x5, [sp, #48]\n\t"                                                                     \
      "ldr x6, [sp, #64]\n\t"                                                                         \
      "ldp x29, x30, [sp], #80\n\t"                                                                   \
      "hint #29\n\t"                                                                                  \
      "tbnz w9, #0, 3f\n"                                                                             \
      "2:\n\t"                                                                                        \
      "adrp x16, tare_real_functions\n\t"                                                             \
      "add x16, x16, :lo12:tare_real_functions\n\t"                                                   \
      "ldr x16, [x16, %4]\n\t"                                                                        \
      "br x16\n"                                                                                      \
      "3:\n\t"                                                                                        \
      "b tare_known_call"                                                                             \
      :                                                                                               \
      : "i"(SYS_seccomp), "i"(SYS_prctl), "i"(SYS_clone), "i"(::tare::recorder::arch::kSharesMemory), \
        "i"(offsetof(RealFunctions, syscall)), "i"(SYS_clone3))

// dlopen() without RTLD_DEEPBIND: see hooks/deep_binding.cc.
#define TARE_DLOPEN_HOOK                            \
  __asm__ volatile(                                 \
      "hint #34\n\t"                                \
      "and w1, w1, %0\n\t"                          \
      "adrp x16, tare_real_functions\n\t"           \
      "add x16, x16, :lo12:tare_real_functions\n\t" \
      "ldr x16, [x16, %1]\n\t"                      \
      "br x16"                                      \
      :                                             \
      : "i"(~RTLD_DEEPBIND), "i"(offsetof(tare::recorder::RealFunctions, dlopen)))

// An operator's symbol, its slot and its look-up: see hooks/operators.cc.
#define TARE_OPERATOR_ENTRY(symbol)                                                                              \
  __asm__(                                                                                                       \
      ".pushsection .text\n"                                                                                     \
      ".globl " #symbol "\n.type " #symbol ",%function\n.p2align 4\n" #symbol                                    \
      ":\n.cfi_startproc\n hint #34\n adrp x16, tare_slot_" #symbol "\n ldr x16, [x16, :lo12:tare_slot_" #symbol \
      "]\n br x16\n.cfi_endproc\n.size " #symbol ", .-" #symbol "\n.p2align 4\ntare_look_up_" #symbol            \
      ":\n.cfi_startproc\n hint #34\n adrp x17, tare_slot_" #symbol "\n add x17, x17, :lo12:tare_slot_" #symbol  \
      "\n b tare_operator_look_up_common\n.cfi_endproc\n"                                                        \
      ".popsection\n"                                                                                            \
      ".pushsection .data\n.p2align 3\ntare_slot_" #symbol ": .quad tare_look_up_" #symbol "\n.popsection\n");

// In x17: the operator's slot. The arguments are kept for the operator itself.
#define TARE_OPERATOR_LOOK_UP                                                                         \
  __asm__(                                                                                            \
      ".pushsection .text\n"                                                                          \
      ".type tare_operator_look_up_common,%function\n"                                                \
      "tare_operator_look_up_common:\n"                                                               \
      ".cfi_startproc\n"                                                                              \
      "hint #25\n.cfi_negate_ra_state\n"                                                              \
      "stp x29, x30, [sp, #-48]!\n.cfi_def_cfa_offset 48\n.cfi_offset 29, -48\n.cfi_offset 30, -40\n" \
      "mov x29, sp\n"                                                                                 \
      "stp x0, x1, [sp, #16]\n"                                                                       \
      "str x2, [sp, #32]\n"                                                                           \
      "adrp x0, tare_operator_slots\n"                                                                \
      "add x0, x0, :lo12:tare_operator_slots\n"                                                       \
      "sub x0, x17, x0\n"                                                                             \
      "lsr x0, x0, #3\n"                                                                              \
      "bl tare_look_up_operator\n"                                                                    \
      "mov x16, x0\n"                                                                                 \
      "ldr x2, [sp, #32]\n"                                                                           \
      "ldp x0, x1, [sp, #16]\n"                                                                       \
      "ldp x29, x30, [sp], #48\n.cfi_def_cfa_offset 0\n.cfi_restore 29\n.cfi_restore 30\n"            \
      "hint #29\n.cfi_negate_ra_state\n"                                                              \
      "br x16\n"                                                                                      \
      ".cfi_endproc\n"                                                                                \
      ".popsection\n");
