// Prints prices in nanoseconds: reallocs, malloc, calloc and free of small blocks, hot (freed at once) and among 10,000
// others; two clock reads as the recorder times a call; memcpy of 1 MiB, a page fault, the
// release of a page, a mapping.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

enum { kBlocks = 10000, kRounds = 200, kCopied = 1 << 20, kPages = 20000, kSteps = 950 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void* volatile blocks[kBlocks];

// A step of growth by 16 bytes up to 16 KiB, which are computed and written: a buffer grows to be written. The block
// has free memory behind it, or is the last of the heap. The difference that `with_calls` makes is the price of the
// reallocs.
static inline __attribute__((always_inline)) double grow(int with_calls, int has_free_behind) {
  double ns = 0;
  unsigned number = 1;
  for (int round = 0; round < kRounds * 2; ++round) {
    void* volatile behind = malloc(32768);
    void* volatile guard = has_free_behind ? malloc(16) : NULL;
    free(behind);
    char* volatile grown = malloc(1040 + (with_calls ? 0 : 16 * kSteps));
    const double begin = now();
    for (size_t step = 1; step <= kSteps; ++step) {
      if (with_calls) grown = realloc(grown, 1040 + 16 * step);
      unsigned words[4];
      for (int i = 0; i < 4; ++i) words[i] = number = number * 1664525U + 1013904223U;
      memcpy(grown + 1024 + 16 * step, words, sizeof words);
    }
    ns += now() - begin;
    free(grown);
    free(guard);
  }
  return ns / (kRounds * 2) / kSteps;
}

int main(void) {
  // First, while the heap has no other free memory.
  const double write_ns = grow(0, 0), last_ns = grow(1, 0) - write_ns, free_behind_ns = grow(1, 1) - write_ns;
  double malloc_ns = 0, calloc_ns = 0, free_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    double begin = now();
    for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(16 + (size_t)(i * 7 % 113));
    double middle = now();
    for (int i = 0; i < kBlocks; ++i) free(blocks[i * 7919 % kBlocks]);
    double end = now();
    malloc_ns += middle - begin;
    free_ns += end - middle;
    begin = now();
    for (int i = 0; i < kBlocks; ++i) blocks[i] = calloc(1, 16 + (size_t)(i * 7 % 113));
    calloc_ns += now() - begin;
    for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  }
  const double calls = (double)kBlocks * kRounds;
  double hot[2];
  for (int zeroed = 0; zeroed < 2; ++zeroed) {
    const double start = now();
    for (int i = 0; i < kBlocks * kRounds; ++i) {
      void* volatile block = zeroed ? calloc(1, 40) : malloc(40);
      free(block);
    }
    hot[zeroed] = (now() - start) / calls;
  }
  char* volatile resized = malloc(100);
  const double resize_begin = now();
  for (int i = 0; i < kBlocks * kRounds; ++i) resized = realloc(resized, 97 + (size_t)(i % 8));
  const double realloc_ns = (now() - resize_begin) / calls;
  free(resized);
  // With a block in use behind: 16 bytes more, and 112 bytes to copy.
  double moved_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(112);
    const double move_begin = now();
    for (int i = 0; i < kBlocks; ++i) blocks[i] = realloc(blocks[i], 128);
    moved_ns += now() - move_begin;
    for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  }
  unsigned processor;
  const double clock_begin = now();
  const unsigned long long ticks_begin = __rdtsc();
  unsigned long long ticks = 0;
  for (int i = 0; i < kBlocks * kRounds; ++i) {
    const unsigned long long first = __rdtscp(&processor);
    ticks += __rdtscp(&processor) - first;
  }
  const double timer_ns = (double)ticks / calls * (now() - clock_begin) / (double)(__rdtsc() - ticks_begin);
  char* from = malloc(kCopied);
  char* to = malloc(kCopied);
  memset(from, 1, kCopied);
  double begin = now();
  for (int i = 0; i < 2000; ++i) {
    memcpy(to, from, kCopied);
    __asm__ volatile("" ::"r"(to) : "memory");
  }
  const double copy_ns = (now() - begin) / 2000 / kCopied;
  char* pages = mmap(NULL, (size_t)kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(pages, (size_t)kPages * 4096, MADV_NOHUGEPAGE);
  begin = now();
  for (int i = 0; i < kPages; ++i) pages[(size_t)i * 4096] = 1;
  const double fault_ns = (now() - begin) / kPages;
  begin = now();
  munmap(pages, (size_t)kPages * 4096);
  const double release_ns = (now() - begin) / kPages;
  begin = now();
  for (int i = 0; i < kPages; ++i)
    munmap(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
  const double map_ns = (now() - begin) / kPages;
  printf(
      "realloc within the block %.2f\nrealloc into free memory %.2f\nrealloc at the end of the heap %.2f\nrealloc that "
      "moves %.2f\n",
      realloc_ns, free_behind_ns, last_ns, moved_ns / calls);
  printf("hot malloc and free %.2f\nhot calloc and free %.2f\ntimer %.2f\n", hot[0], hot[1], timer_ns);
  printf(
      "malloc %.2f\ncalloc %.2f\nfree %.2f\ncopy of a byte %.4f\npage fault %.1f\nrelease of a page %.1f\nmmap and "
      "munmap %.1f\n",
      malloc_ns / calls, calloc_ns / calls, free_ns / calls, copy_ns, fault_ns, release_ns, map_ns);
  return 0;
}
