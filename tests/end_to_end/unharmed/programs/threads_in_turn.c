// So many threads, one or two at a time; each allocates a little. Prints how many there were.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void* work(void* unused) {
  char* volatile block = malloc(100);
  free(block);
  return malloc(50);
}

int main(int count, char** arguments) {
  const int threads = count > 1 ? atoi(arguments[1]) : 1000;
  for (int i = 0; i < threads; i += 2) {
    pthread_t two[2];
    void* block;
    for (int each = 0; each < 2; each++) {
      if (pthread_create(&two[each], NULL, work, NULL) != 0) return 1;
    }
    for (int each = 0; each < 2; each++) {
      pthread_join(two[each], &block);
      free(block);
    }
  }
  printf("%d\n", threads);
  return 2;
}
