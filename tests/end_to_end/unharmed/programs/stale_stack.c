// Coroutine stacks from malloc: the C library unmaps freed ones where no hook sees it, and another stack's end then
// lies beside a hole. Its outermost frame has nothing outside of it that an unwinder could know.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int deep;

static void allocate(void) {
  void* const block = malloc(24);
  __asm__ volatile("" ::"r"(block) : "memory");
  free(block);
}

__attribute__((noinline)) static void use_much(void) {
  volatile char large[800 << 10];
  large[0] = 1;
  allocate();
  large[5] = 2;
}

__attribute__((noinline, used)) void work(void) {
  if (deep)
    use_much();
  else
    allocate();
  __asm__ volatile("");
}

__attribute__((noinline, optimize("omit-frame-pointer"))) static void on_stack(char* top) {
  __asm__ volatile("mov %%rsp, %%rbx\n mov %0, %%rsp\n call work\n mov %%rbx, %%rsp\n" ::"r"(top)
                   : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

static char* top_of(char* block) { return block + malloc_usable_size(block); }

int main(void) {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  for (int round = 0; round < 3; ++round) {
    char* const first = malloc(1 << 20);
    deep = 1;
    on_stack(top_of(first) - 64);
    deep = 0;
    free(first);                             // unmapped by libc
    char* const filler = malloc(256 << 10);  // takes the upper end of the hole
    filler[0] = 1;
    __asm__ volatile("" ::"r"(filler) : "memory");  // else the compiler leaves it out
    char* const second = malloc(400 << 10);         // below it
    char* const top = top_of(second);
    free(filler);  // the hole is back, above the second stack
    on_stack(top);
    free(second);
  }
  puts("fine");
  return 0;
}
