// One thread gives up a mapping; another takes its place, and keeps it, before the first has returned from the call.
// Argument: munmap, mremap or sbrk. Says how many bytes are mapped at the end.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 256 << 10 };

extern void (*between)(void);  // slow_unmapping.c

static const char* way;
static char* given;
static int failures;
static sem_t given_up, taken;

static char* map(char* address) {
  return mmap(address, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void* take(void* unused) {
  sem_wait(&given_up);
  failures += (strcmp(way, "sbrk") == 0 ? sbrk(kBytes) : map(given)) != given;
  sem_post(&taken);
  return unused;
}

static void let_take(void) {
  between = NULL;
  sem_post(&given_up);
  sem_wait(&taken);
}

static int give_up(void) {
  if (strcmp(way, "munmap") == 0) return munmap(given, kBytes);
  if (strcmp(way, "sbrk") == 0) return sbrk(-kBytes) == (void*)-1;
  char* const other = given + 2 * kBytes;
  return mremap(given, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, other) != other;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  way = arguments[1];
  void* volatile block = malloc(1);  // the C library's heap begins before the break is moved
  free(block);
  // far from where the kernel places mappings: nobody else comes here
  given = strcmp(way, "sbrk") == 0 ? sbrk(kBytes) : map((char*)((uintptr_t)1 << 40));
  pthread_t thread;
  pthread_create(&thread, NULL, take, NULL);
  between = let_take;
  failures += give_up() != 0;
  pthread_join(thread, NULL);
  printf("%d\n", strcmp(way, "mremap") == 0 ? 2 * kBytes : kBytes);
  return failures;
}
