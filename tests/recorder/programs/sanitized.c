// Prints its arguments and LD_PRELOAD.
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) printf("%s ", arguments[i]);
  const char* preload = getenv("LD_PRELOAD");
  printf("preload=%s", preload != NULL ? preload : "none");
  return 0;
}
