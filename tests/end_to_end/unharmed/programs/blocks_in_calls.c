// Takes ten blocks, four calls below main.
#include <stdlib.h>

void* volatile kept;

__attribute__((noinline)) static void take(int calls) {
  if (calls > 0) {
    take(calls - 1);
    __asm__ volatile("");  // no tail call
  } else {
    kept = malloc(1000);
  }
}

int main(void) {
  for (int i = 0; i < 10; ++i) take(3);
  return 0;
}
