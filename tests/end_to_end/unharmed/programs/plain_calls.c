// Calls each function of an allocator from several threads; linked with an allocator of its own or none.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* work(void* unused) {
  long* numbers = NULL;
  for (size_t i = 1; i < 200; ++i) {
    numbers = reallocarray(numbers, i * 100, sizeof *numbers);
    numbers[i] = (long)i;
    void* aligned = NULL;
    if (posix_memalign(&aligned, 64, i * 10) != 0) abort();
    void* const zeroed = calloc(i, 7);
    void* const other = aligned_alloc(32, i * 32);
    void* const grown = realloc(malloc(i), i * 3);
    memset(aligned, 1, i * 10);
    memset(other, 1, malloc_usable_size(other));
    free(aligned);
    free(zeroed);
    free(other);
    free(grown);
  }
  const long last = numbers[150];
  free(numbers);
  return (void*)last;
}

int main(void) {
  pthread_t threads[4];
  long sum = 0;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  printf("%ld\n", sum);
  return 0;
}
