// Calls each allocating function of musl a known number of times, in two threads, a child and a program it executes.
// With an argument: keeps 256 blocks of each size named there.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kTimes = 100, kKept = 256 };

static void* kept[kKept];

static void* calls(void* nothing) {
  for (int i = 0; i < kTimes; ++i) {
    char* a = malloc(100 + i);
    char* b = calloc(10 + i, 30);
    for (int at = 0; at < (10 + i) * 30; ++at)
      if (b[at] != 0) abort();
    memset(b, 1, (10 + i) * 30);
    a = realloc(a, 5000 + 100 * i);
    char* c = reallocarray(0, 7, 1 + i);
    char* d = aligned_alloc(64, 640);
    char* e = memalign(256, 100 + i);
    void* f = 0;
    if (posix_memalign(&f, 4096, 5000) != 0) abort();
    char* g = strdup("a text of the library");
    char* h = calloc(1, 200000);
    for (int at = 0; at < 200000; at += 500)
      if (h[at] != 0) abort();
    memset(h, 2, 200000);
    if (malloc_usable_size(a) != (size_t)(5000 + 100 * i)) abort();
    memset(c, 3, 7), memset(d, 3, 640), memset(e, 3, 100), memset(f, 3, 5000);
    __asm__ volatile("" : : "r"(c), "r"(d), "r"(e), "r"(f) : "memory");  // the compiler may drop unused blocks
    free(a), free(b), free(c), free(d), free(e), free(f), free(g), free(h);
  }
  if (posix_memalign(kept, 3, 5) == 0 || calloc((size_t)1 << 62, 16) != 0) abort();
  return nothing;
}

int main(int count, char** arguments) {
  if (count > 1) {
    for (int i = 1; i < count; ++i)
      for (int n = 0; n < kKept; ++n) kept[n] = malloc(strtoul(arguments[i], 0, 10));
    return kept[kKept - 1] == 0;
  }
  pthread_t thread;
  if (pthread_create(&thread, 0, calls, 0) != 0) return 1;
  calls(0);
  pthread_join(thread, 0);
  if (fork() == 0) {
    calls(0);
    execl(arguments[0], arguments[0], "100", (char*)0);
    _exit(1);
  }
  int status = 1;
  wait(&status);
  printf("%d\n", status);
  return 0;
}
