// The code of a detour: see detour.h.
#include "core/injection/detour.h"

#include <cstring>

// The first call blocks signals, although the launcher has done so: it may be killed just before. Until the stack is
// changed, and after it is changed back, handlers may run on the thread's own stack below its red zone.
//
// Stops are calls of rt_sigprocmask with a wrong size, which the kernel refuses: seccomp filters that let the other
// calls pass let these pass.
//
// The kernel itself prepares the interrupted system call at the first step: if no handler runs, it goes back by the two
// bytes of a system call's instruction, and sets rax to the call's number. If a handler runs before signals are
// blocked, the call may have ended by it: rax is its result. The thread continues with this rax (r12), and at its call
// if r13 is 1, behind it if r13 is 0.
//
// Behind the second stop, the flags are those of the thread. Only instructions that leave them as they are follow.
asm(R"(
  .pushsection .rodata
  .balign 16
  .hidden tare_detour
  .globl tare_detour
tare_detour:
  .zero 192
.Lmxcsr:
  .long 0x1f80, 0
  .byte 0xeb, .Lagain - tare_detour_begin
  .hidden tare_detour_begin
  .globl tare_detour_begin
tare_detour_begin:
  xorl %r13d, %r13d
  jmp .Lblock
.Lagain:
  movl $1, %r13d
.Lblock:
  movq %rax, %r12
  movl $14, %eax
  movl $2, %edi
  leaq tare_detour+32(%rip), %rsi
  xorl %edx, %edx
  movl $8, %r10d
  syscall
  movl $9, %eax
  movq tare_detour+8(%rip), %rdi
  movq tare_detour+16(%rip), %rsi
  movl $3, %edx
  movl $0x100022, %r10d
  movq $-1, %r8
  xorl %r9d, %r9d
  syscall
  cmpq tare_detour+8(%rip), %rax
  jne .Lelsewhere
  movq tare_detour+24(%rip), %rbx
  movq %rbx, %rsp
  movq %r12, 80(%rbx)
  movq %r13, 88(%rbx)
  movl $-1, %eax
  movl %eax, %edx
  xsave64 128(%rbx)
  fninit
  ldmxcsr .Lmxcsr(%rip)
  pushq $2
  popfq
.Lcall_stop:
  movl $14, %eax
  xorl %r10d, %r10d
  syscall
  .hidden tare_detour_after_call_stop
  .globl tare_detour_after_call_stop
tare_detour_after_call_stop:
  movq (%rbx), %r11
  testq %r11, %r11
  jz tare_detour_leave
  movq $0, (%rbx)
  movq 8(%rbx), %rdi
  movq 16(%rbx), %rsi
  movq 24(%rbx), %rdx
  movq 32(%rbx), %rcx
  movq 40(%rbx), %r8
  xorl %eax, %eax
  call *%r11
  movq %rax, 48(%rbx)
  incq 56(%rbx)
  jmp .Lcall_stop
  .hidden tare_detour_leave
  .globl tare_detour_leave
tare_detour_leave:
  movq 64(%rbx), %rax
  testq %rax, %rax
  jz .Lkept_errno
  movl 72(%rbx), %ecx
  movl %ecx, (%rax)
.Lkept_errno:
  movl $-1, %eax
  movl %eax, %edx
  xrstor64 128(%rbx)
  movq 80(%rbx), %r12
  movq 88(%rbx), %r13
  movq tare_detour+64(%rip), %rsp
  movl $11, %eax
  movq tare_detour+8(%rip), %rdi
  movq tare_detour+16(%rip), %rsi
  syscall
  jmp .Lend
.Lelsewhere:
  cmpq $-4095, %rax
  jae .Lend
  movq %rax, %rdi
  movq tare_detour+16(%rip), %rsi
  movl $11, %eax
  syscall
.Lend:
  leaq tare_detour+48(%rip), %rsp
  popfq
  movq tare_detour+64(%rip), %rsp
  movl $14, %eax
  movl $0, %r10d
  syscall
  .hidden tare_detour_after_end_stop
  .globl tare_detour_after_end_stop
tare_detour_after_end_stop:
  movl $14, %eax
  movl $2, %edi
  leaq tare_detour+40(%rip), %rsi
  movl $0, %edx
  movl $8, %r10d
  syscall
  movq %r12, %rax
  movq %r13, %rcx
  movq tare_detour+80(%rip), %rbx
  movq tare_detour+96(%rip), %rdx
  movq tare_detour+104(%rip), %rsi
  movq tare_detour+112(%rip), %rdi
  movq tare_detour+120(%rip), %rbp
  movq tare_detour+128(%rip), %r8
  movq tare_detour+136(%rip), %r9
  movq tare_detour+144(%rip), %r10
  movq tare_detour+152(%rip), %r11
  movq tare_detour+160(%rip), %r12
  movq tare_detour+168(%rip), %r13
  movq tare_detour+176(%rip), %r14
  movq tare_detour+184(%rip), %r15
  jrcxz .Lbehind
  movq tare_detour+88(%rip), %rcx
  jmp *tare_detour+72(%rip)
.Lbehind:
  movq tare_detour+88(%rip), %rcx
  jmp *tare_detour+56(%rip)
  .balign 8
  .hidden tare_detour_end
  .globl tare_detour_end
tare_detour_end:
  .popsection
)");

extern "C" {
extern const char tare_detour[];
extern const char tare_detour_begin[];
extern const char tare_detour_after_call_stop[];
extern const char tare_detour_leave[];
extern const char tare_detour_after_end_stop[];
extern const char tare_detour_end[];
}

namespace tare::core {

const DetourPlaces kDetourPlaces{static_cast<std::uint64_t>(tare_detour_begin - tare_detour),
                                 static_cast<std::uint64_t>(tare_detour_after_call_stop - tare_detour),
                                 static_cast<std::uint64_t>(tare_detour_leave - tare_detour),
                                 static_cast<std::uint64_t>(tare_detour_after_end_stop - tare_detour)};

std::size_t detour_bytes() { return static_cast<std::size_t>(tare_detour_end - tare_detour); }

std::vector<std::uint64_t> detour_of(const DetourFacts& facts, const user_regs_struct& stopped) {
  std::vector<std::uint64_t> words(detour_bytes() / sizeof(std::uint64_t));
  std::memcpy(words.data(), tare_detour, detour_bytes());
  constexpr std::uint64_t kInstructionBytes = 2;  // of a system call
  DetourFacts all = facts;
  all.magic = kDetourMagic;
  all.flags = stopped.eflags;
  all.rip = stopped.rip;
  all.rsp = stopped.rsp;
  all.rip_again = stopped.rip - kInstructionBytes;
  all.rbx = stopped.rbx;
  all.rcx = stopped.rcx;
  all.rdx = stopped.rdx;
  all.rsi = stopped.rsi;
  all.rdi = stopped.rdi;
  all.rbp = stopped.rbp;
  all.r8 = stopped.r8;
  all.r9 = stopped.r9;
  all.r10 = stopped.r10;
  all.r11 = stopped.r11;
  all.r12 = stopped.r12;
  all.r13 = stopped.r13;
  all.r14 = stopped.r14;
  all.r15 = stopped.r15;
  std::memcpy(words.data(), &all, sizeof(all));
  return words;
}

}  // namespace tare::core
