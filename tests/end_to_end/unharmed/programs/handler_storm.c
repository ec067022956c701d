// Two threads allocate while a third interrupts them every 50 microseconds by a handler that maps and unmaps a page.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { kRounds = 12000000, kThreads = 2 };

static atomic_int done;
static atomic_int over;

static void pause_us(long us) {
  const struct timespec pause = {0, us * 1000};
  nanosleep(&pause, NULL);
}

static void interrupt(int number) {
  (void)number;
  void* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) munmap(page, 4096);
}

static void* allocate(void* unused) {
  unsigned size = 1;
  for (int i = 0; i < kRounds; ++i) {
    size = size * 1103515245U + 12345U;
    void* volatile block = malloc(100 + size % 900);
    free(block);
  }
  ++done;
  while (!over) pause_us(1000);
  return unused;
}

int main(void) {
  struct sigaction action = {0};
  action.sa_handler = interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, NULL);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, allocate, NULL);
  while (done < kThreads) {
    for (int i = 0; i < kThreads; ++i) pthread_kill(threads[i], SIGUSR1);
    pause_us(50);
  }
  over = 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
