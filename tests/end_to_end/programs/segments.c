// segments THREADS ROUNDS [fork|leak]: allocates and frees by numbers that are the same in every run. `fork`: a child
// does it, with blocks of its parent among them. `leak`: one block of 12345 bytes is lost before.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 2048
static long rounds;
static void* slots[8][SLOTS];

static void* work(void* number) {
  void** mine = slots[(long)number];
  unsigned long state = (unsigned long)number * 2654435761u + 12345;
  for (long i = 0; i < rounds; ++i) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    const unsigned slot = (state >> 33) % SLOTS;
    const size_t size = 16 + (state >> 45) % 2000;
    switch ((state >> 20) % 4) {
      case 0:
        mine[slot] = realloc(mine[slot], size);
        break;
      case 1:
        free(mine[slot]);
        mine[slot] = NULL;
        break;
      default:
        free(mine[slot]);
        mine[slot] = malloc(size);
        memset(mine[slot], 1, size / 2);
        break;
    }
  }
  return NULL;
}

__attribute__((noinline)) static void lose_a_block(void) {
  void* volatile lost = malloc(12345);
  *(volatile char*)lost = 1;
}

int main(int count, char** arguments) {
  const long threads = atol(arguments[1]);
  rounds = atol(arguments[2]);
  pthread_t started[8];
  if (count > 3 && strcmp(arguments[3], "leak") == 0) lose_a_block();
  if (count > 3 && strcmp(arguments[3], "fork") == 0) {
    for (int i = 0; i < SLOTS; ++i) slots[0][i] = malloc(100 + i);
    if (fork() != 0) {
      int status = 1;
      wait(&status);
      return status != 0;
    }
  }
  for (long i = 1; i < threads; ++i) pthread_create(&started[i], NULL, work, (void*)i);
  work(NULL);
  for (long i = 1; i < threads; ++i) pthread_join(started[i], NULL);
  puts("done");
  fflush(stdout);
  return 0;
}
