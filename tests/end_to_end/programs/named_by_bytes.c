// A function whose symbol is SYMBOL, any bytes, allocates.
#include <stdlib.h>

void function(void) __asm__(SYMBOL);

void* volatile kept[3000];

__attribute__((noinline)) void function(void) {
  for (int i = 0; i < 3000; ++i) kept[i] = malloc(1000 + i % 3);
}

int main(void) {
  function();
  return 0;
}
