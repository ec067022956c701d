// Coroutines by a switch of stacks written by hand, without unwind tables for it. The stacks are unmapped at their end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kStackBytes = 64 << 10, kCoroutines = 40 };

void switch_stack(void** save, void* to);
__asm__(
    ".text\n.globl switch_stack\n.type switch_stack, @function\nswitch_stack:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static void* caller;
static void* current;
static long sum;

static void body(void) {
  for (int i = 0; i < 30; i++) {
    char* text = malloc(100 + i);
    memset(text, i, 100 + i);
    sum += text[50];
    switch_stack(&current, caller);
    free(text);
  }
  for (;;) switch_stack(&current, caller);
}

int main(void) {
  char* stacks[kCoroutines];
  void* places[kCoroutines];
  for (int i = 0; i < kCoroutines; i++) {
    stacks[i] = mmap(NULL, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void** top = (void**)(stacks[i] + kStackBytes) - 3;  // aligned as at a call
    *--top = (void*)body;
    places[i] = top - 6;  // six registers, all zero
  }
  for (int round = 0; round < 31; round++) {
    for (int i = 0; i < kCoroutines; i++) {
      switch_stack(&caller, places[i]);
      places[i] = current;
    }
  }
  for (int i = 0; i < kCoroutines; i++) munmap(stacks[i], kStackBytes);
  free(malloc(100));
  printf("%ld\n", sum);
  return 2;
}
