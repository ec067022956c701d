// As a library: takes blocks in its constructor, before main. As a program: takes one in main.
#include <stdlib.h>

void* volatile kept[16];

#ifdef AS_LIBRARY
__attribute__((constructor)) static void take(void) {
  for (int i = 0; i < 16; ++i) kept[i] = malloc(100 + i);
}
#else
int main(void) {
  kept[0] = malloc(1000);
  return 0;
}
#endif
