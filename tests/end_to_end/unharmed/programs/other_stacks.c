// A signal handler interrupts realloc, which copies from a page that can't be read yet, and maps and unmaps memory on a
// stack above the interrupted one. Argument: "autodisarm" for an alternate stack that the kernel disarms meanwhile,
// "swapcontext" for a coroutine's stack that the handler switches to and back from.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { kRounds = 50, kBytes = 64 << 10, kStackBytes = 1 << 20, kPage = 4096 };

static const char* way;
static char* hidden_page;
static char* upper_stack;
static ucontext_t interrupted, coroutine;

static void* map(uintptr_t address, size_t bytes) {
  return mmap((void*)address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void use_mappings(void) {
  for (int i = 0; i < 3; ++i) munmap(map(0, kPage), kPage);
}

static void on_fault(int number) {
  (void)number;
  if (mprotect(hidden_page, kPage, PROT_READ | PROT_WRITE) != 0) _exit(3);
  if (strcmp(way, "autodisarm") == 0) return use_mappings();
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = upper_stack;
  coroutine.uc_stack.ss_size = kStackBytes;
  coroutine.uc_link = &interrupted;
  makecontext(&coroutine, use_mappings, 0);
  swapcontext(&interrupted, &coroutine);
}

static void* work(void* unused) {
  stack_t stack = {.ss_sp = upper_stack, .ss_size = kStackBytes, .ss_flags = (int)(1u << 31)};
  if (strcmp(way, "autodisarm") == 0 && sigaltstack(&stack, NULL) != 0) _exit(4);
  for (int i = 0; i < kRounds; ++i) {
    char* block = malloc(kBytes);
    void* volatile neighbour = malloc(kBytes);  // so that the block can't grow where it is
    memset(block, 1, kBytes);
    hidden_page = (char*)(((uintptr_t)block + kBytes / 2) & ~(uintptr_t)(kPage - 1));
    if (mprotect(hidden_page, kPage, PROT_NONE) != 0) _exit(5);
    block = realloc(block, kBytes + kBytes / 2);
    free(block);
    free(neighbour);
  }
  return unused;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  way = arguments[1];
  char* const lower_stack = map((uintptr_t)1 << 40, kStackBytes);
  upper_stack = map((uintptr_t)2 << 40, kStackBytes);
  const struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, lower_stack, kStackBytes);
  pthread_t thread;
  if (upper_stack < lower_stack || pthread_create(&thread, &attributes, work, NULL) != 0) return 6;
  pthread_join(thread, NULL);
  puts("done");
  return 0;
}
