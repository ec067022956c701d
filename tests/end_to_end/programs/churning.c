/* Makes a block and frees it, over and over, in as many threads as the argument says. */
#include <pthread.h>
#include <stdlib.h>

__attribute__((noinline)) static void scratch(int i) {
  char* volatile block = malloc(1000 + (size_t)(i % 50) * 8);
  block[0] = 'x';
  free(block);
}

static void* churn(void* unused) {
  (void)unused;
  for (int i = 0; i < 300000; ++i) scratch(i);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[8];
  int count = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 1; i < count; ++i) pthread_create(&threads[i], NULL, churn, NULL);
  churn(NULL);
  for (int i = 1; i < count; ++i) pthread_join(threads[i], NULL);
  return 0;
}
