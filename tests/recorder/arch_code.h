// Code in assembler that tests of the recorder and of the unwinder need, for each machine.
#pragma once

#if defined(__x86_64__)

#define TARE_INVALID_INSTRUCTION "ud2"
#define TARE_TRAP __asm__ volatile("int3")

#define TARE_FRAME_BY_REGISTER(name)                                       \
  __asm__(".text\n.globl " name "\n.type " name ", @function\n" name       \
          ":\n"                                                            \
          ".cfi_startproc\n"                                               \
          "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n" \
          "movq %rsp, %rbx\n.cfi_def_cfa_register rbx\n"                   \
          "andq $-64, %rsp\n"                                              \
          "movq %rdi, %rax\nmovl %esi, %edi\ncall *%rax\n"                 \
          "movq %rbx, %rsp\n.cfi_def_cfa_register rsp\n"                   \
          "popq %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbx\n"       \
          "ret\n.cfi_endproc\n.size " name ", .-" name "\n")

#elif defined(__aarch64__)

#define TARE_INVALID_INSTRUCTION "udf #0"
// A breakpoint would be executed again after its handler.
#define TARE_TRAP                                                                                           \
  ::tare::recorder::sys::call(SYS_tgkill, ::tare::recorder::sys::getpid(), ::tare::recorder::sys::gettid(), \
                              5 /* SIGTRAP */)

// Signs its return address (hint #25 and #29: paciasp, autiasp).
#define TARE_FRAME_BY_REGISTER(name)                                                                     \
  __asm__(".text\n.p2align 2\n.globl " name "\n.type " name ", %function\n" name                         \
          ":\n"                                                                                          \
          ".cfi_startproc\n"                                                                             \
          "hint #25\n.cfi_negate_ra_state\n"                                                             \
          "stp x19, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 19, -16\n.cfi_offset 30, -8\n" \
          "mov x19, sp\n.cfi_def_cfa_register 19\n"                                                      \
          "mov x9, sp\nand x9, x9, #-64\nmov sp, x9\n"                                                   \
          "mov x16, x0\nmov w0, w1\nblr x16\n"                                                           \
          "mov sp, x19\n.cfi_def_cfa_register 31\n"                                                      \
          "ldp x19, x30, [sp], #16\n.cfi_def_cfa_offset 0\n.cfi_restore 19\n.cfi_restore 30\n"           \
          "hint #29\n.cfi_negate_ra_state\n"                                                             \
          "ret\n.cfi_endproc\n.size " name ", .-" name "\n")

#endif
