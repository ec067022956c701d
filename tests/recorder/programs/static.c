#include <stdlib.h>

int main(void) {
  free(malloc(1));
  return 0;
}
