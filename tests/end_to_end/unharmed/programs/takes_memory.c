// Allocates and touches so many MiB in blocks of 64 KiB, and lets four threads allocate as fast as they can meanwhile.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* churn(void* unused) {
  char* volatile held[64] = {0};
  for (int i = 0; i < 1000000; i++) {
    free(held[i % 64]);
    held[i % 64] = malloc(16 + i % 1000);
  }
  return unused;
}

int main(int count, char** arguments) {
  const int blocks = count > 1 ? atoi(arguments[1]) * 16 : 16;
  char** held = malloc(blocks * sizeof *held);
  for (int i = 0; i < blocks; i++) held[i] = memset(malloc(64000), i, 64000);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, churn, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  printf("%d blocks\n", blocks);
  return held[blocks - 1][0] == (char)(blocks - 1) ? 6 : 7;
}
