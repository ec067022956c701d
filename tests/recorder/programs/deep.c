// Recursion to a depth (argument 1), one allocation at the bottom and one a level on the way back.
#include <stdlib.h>

static void* volatile sink;

__attribute__((noinline)) static int down(int depth) {
  if (depth == 0) {
    sink = malloc(4242);
    return 0;
  }
  int below = down(depth - 1);
  if (depth % 1000 == 0) sink = malloc(77);
  return below + 1;
}

int main(int count, char** arguments) { return down(count > 1 ? atoi(arguments[1]) : 10) == 0; }
