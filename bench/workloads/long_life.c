// long_life SECONDS SHAPES LIBRARY: makes and ends named threads, mappings and processes for so long, loads and unloads
// the library, and allocates from up to so many distinct stacks. The heap itself stays level.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
static unsigned shapes;
static void* volatile kept[4096];

// Each bit of `path` is one of two callers: a path of 20 bits has a million stacks.
static void left(unsigned path, int depth, unsigned slot);
static __attribute__((noinline)) void right(unsigned path, int depth, unsigned slot) {
  if (depth > 0) {
    if (path & 1)
      right(path >> 1, depth - 1, slot);
    else
      left(path >> 1, depth - 1, slot);
  } else {
    free(kept[slot]);
    kept[slot] = malloc(16 + slot % 2000);
  }
  __asm__ volatile("");
}
static __attribute__((noinline)) void left(unsigned path, int depth, unsigned slot) {
  if (depth > 0) {
    if (path & 1)
      right(path >> 1, depth - 1, slot);
    else
      left(path >> 1, depth - 1, slot);
  } else {
    free(kept[slot]);
    kept[slot] = malloc(16 + slot % 2000);
  }
  __asm__ volatile("");
}

static void* work(void* seed) {
  unsigned state = (unsigned)(size_t)seed;
  char name[16];
  snprintf(name, sizeof(name), "worker %u", state % 100000000);
  pthread_setname_np(pthread_self(), name);
  for (int i = 0; i < 2000; i++) {
    state = state * 1664525 + 1013904223;
    void* volatile block = malloc((state >> 16) % 1024);
    free(block);
  }
  return NULL;
}

int main(int count, char** arguments) {
  const time_t end = time(NULL) + (count > 1 ? atoi(arguments[1]) : 10);
  shapes = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 1000;
  unsigned long rounds = 0, threads = 0, mappings = 0, processes = 0, loads = 0;
  unsigned path = 0;
  while (time(NULL) < end) {
    pthread_t four[4];
    for (int i = 0; i < 4; i++) pthread_create(&four[i], NULL, work, (void*)(size_t)(rounds * 4 + i));
    for (int i = 0; i < 4; i++) pthread_join(four[i], NULL);
    threads += 4;
    for (int i = 0; i < 16; i++) {
      void* const mapped = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mapped != MAP_FAILED) munmap(mapped, 65536);
    }
    mappings += 16;
    for (int i = 0; i < 1000; i++) {
      path = path + 1 < shapes ? path + 1 : 0;
      left(path, 20, path % 4096);
    }
    void* const library = count > 3 ? dlopen(arguments[3], RTLD_NOW) : NULL;
    if (library != NULL) {
      void* (*const allocate)(size_t) = (void* (*)(size_t))dlsym(library, "allocate");
      if (allocate != NULL) free(allocate(100));
      dlclose(library);
      loads++;
    }
    if (rounds++ % 4 == 0) {
      char* const command[] = {"/bin/true", NULL};
      pid_t child;
      if (posix_spawn(&child, command[0], NULL, NULL, command, environ) == 0) waitpid(child, NULL, 0);
      processes++;
    }
    const struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
  }
  printf("%lu rounds, %lu threads, %lu mappings, %lu processes, %lu loads of a library\n", rounds, threads, mappings,
         processes, loads);
  return 0;
}
