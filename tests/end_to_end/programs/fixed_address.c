// Takes malloc's address: linked for a fixed address, it has a jump of its own stand for malloc.
#include <stdlib.h>

int main(int count, char** words) {
  (void)words;
  void* (*volatile allocate)(size_t) = count > 9 ? NULL : malloc;
  for (int i = 0; i < 50; ++i) free(allocate(4321));
  return 0;
}
