// Allocates and frees until it's killed.
#include <stdlib.h>

int main(void) {
  void* slots[64] = {0};
  unsigned seed = 1;
  while (1) {
    seed = seed * 1664525u + 1013904223u;
    void** slot = &slots[seed >> 26];
    free(*slot);
    *slot = malloc(16 + (seed >> 12) % 500);
  }
}
