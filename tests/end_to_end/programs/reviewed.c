// Duplicates, slop and a leak, a line each: every one of them is worth a finding.
#include <stdlib.h>
#include <string.h>

static void* volatile kept[4000];

__attribute__((noinline)) static void names(void) {
  for (int i = 0; i < 2000; ++i) memset(kept[i] = malloc(25), 'n', 25);
}

__attribute__((noinline)) static void rows(void) {
  for (int i = 2000; i < 3000; ++i) memset(kept[i] = malloc(1033), i, 1033);
}

__attribute__((noinline)) static void leak(void) {
  for (int i = 0; i < 500; ++i) memset(malloc(777), i, 777);
}

int main(void) {
  names();
  rows();
  leak();
  return 0;
}
