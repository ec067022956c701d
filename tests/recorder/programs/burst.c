// Argument 1: pairs of malloc and free. Prints nothing: whether it ends, and when, is the question.
#include <stdlib.h>

int main(int count, char** arguments) {
  long pairs = count > 1 ? atol(arguments[1]) : 1000;
  for (long i = 0; i < pairs; ++i) free(malloc(16 + (size_t)(i & 255)));
  return 0;
}
