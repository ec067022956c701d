// Calls the heap's functions with a stack that is aligned to 8 bytes only, as hand-written assembly does: the ABI asks
// for 16, and the C library's own functions get along without.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <thread>

// Calls the function with the three words that follow it.
extern "C" long call_oddly(void* function, long first, long second, long third);
asm(R"(
  .text
  .globl call_oddly
  .type call_oddly, @function
call_oddly:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  sub $8, %rsp
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  xor %ecx, %ecx
  call *%rax
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
)");

static long call(void* function, long first, long second = 0, long third = 0) {
  return call_oddly(function, first, second, third);
}
template <typename Result, typename... Parameters>
static void* at(Result (*function)(Parameters...)) {
  return reinterpret_cast<void*>(function);
}
static void give_back(long block) { call(at(free), block); }

static void use_heap(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    const long bytes = 1 + (i * 37) % (i % 64 == 0 ? 300000 : 900);
    long block = call(at(malloc), bytes);
    memset(reinterpret_cast<void*>(block), 1, static_cast<size_t>(bytes));
    block = call(at(realloc), block, 2 * bytes);
    block = call(at(reallocarray), block, 3, bytes);
    give_back(call(at(calloc), 3, bytes));
    give_back(call(at(memalign), 64, bytes));
    give_back(call(at(aligned_alloc), 64, 64));
    give_back(call(at(realloc), 0, bytes));
    void* aligned = nullptr;
    if (call(at(posix_memalign), reinterpret_cast<long>(&aligned), 32, bytes) == 0) free(aligned);
    call(at(malloc_usable_size), block);
    give_back(block);
    const long object = call(at(static_cast<void* (*)(size_t)>(operator new)), bytes);
    call(at(static_cast<void (*)(void*)>(operator delete)), object);
    if (i % 100 == 0) {
      const long mapping = reinterpret_cast<long>(mmap(nullptr, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      call(at(munmap), mapping, 8192);
      call(at(malloc_trim), 0);
    }
  }
}

int main(int count, char** words) {
  mallopt(M_ARENA_MAX, 1);  // the C library makes a new arena by 16-byte stores into its stack
  const unsigned rounds = count > 1 ? static_cast<unsigned>(atoi(words[1])) : 5000;
  use_heap(rounds);
  std::thread first(use_heap, rounds);
  std::thread second(use_heap, rounds);
  first.join();
  second.join();
  const long child = call(at(fork), 0);
  if (child == 0) {
    use_heap(100);
    _exit(0);
  }
  puts("done");
  return 7;
}
