// Coroutines, exceptions and deep stacks.
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <stdexcept>

#include "operations.h"
#include "run.h"

namespace dangerous {

static thread_local Run* coroutine_run = nullptr;
static thread_local ucontext_t* coroutine_caller = nullptr;
static thread_local unsigned char* coroutine_stack = nullptr;

static void coroutine_body() {
  Run* const run = coroutine_run;
  ucontext_t* const caller = coroutine_caller;
  perform_block(*run);
  setcontext(caller);
}

void perform_coroutine(Run& run, unsigned value) {
  void* const stack = value % 2 == 0
                          ? malloc(kStackBytes)
                          : mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ucontext_t own;
  ucontext_t other;
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = kStackBytes;
  other.uc_link = nullptr;
  makecontext(&other, coroutine_body, 0);
  const char* const block = run.at;
  coroutine_run = &run;
  coroutine_caller = &own;
  note(run, static_cast<uint64_t>(swapcontext(&own, &other)));
  if (value % 2 == 0)
    free(stack);
  else
    munmap(stack, kStackBytes);
  run.at = block;
  skip_block(run);
}

// The outer quarter of the stack that a block is performed on can't be used, then isn't there.
static void shrinking_body() {
  Run* const run = coroutine_run;
  ucontext_t* const caller = coroutine_caller;
  unsigned char* const stack = coroutine_stack;
  note(*run, mprotect(stack, kStackBytes / 4, PROT_NONE));
  perform_block(*run);
  note(*run, munmap(stack, kStackBytes / 4));
  free(malloc(100));
  setcontext(caller);
}

void perform_on_a_shrinking_stack(Run& run, unsigned) {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ucontext_t own;
  ucontext_t other;
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = kStackBytes;
  other.uc_link = nullptr;
  makecontext(&other, shrinking_body, 0);
  const char* const block = run.at;
  coroutine_run = &run;
  coroutine_caller = &own;
  coroutine_stack = static_cast<unsigned char*>(stack);
  note(run, swapcontext(&own, &other));
  munmap(static_cast<unsigned char*>(stack) + kStackBytes / 4, kStackBytes - kStackBytes / 4);
  run.at = block;
  skip_block(run);
}

[[gnu::noinline]] static void throw_deep(unsigned depth) {
  if (depth == 0) throw std::runtime_error("deep enough");
  volatile char* const room = static_cast<char*>(alloca(depth * 16));
  room[0] = 1;
  throw_deep(depth - 1);
}

void throw_and_catch(Run& run, unsigned value) {
  try {
    throw_deep(value % 50);
  } catch (const std::exception& error) {
    note(run, strlen(error.what()));
  }
}

void recurse(Run& run, unsigned depth) {
  volatile char room[512];
  room[0] = static_cast<char>(depth);
  if (depth == 0)
    perform_block(run);
  else
    recurse(run, depth - 1);
  note(run, static_cast<uint64_t>(room[0]));
}

}  // namespace dangerous
