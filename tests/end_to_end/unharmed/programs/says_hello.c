// Allocates, says so, and ends with a status of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char* text = malloc(1000);
  strcpy(text, "hello");
  puts(text);
  free(text);
  return 5;
}
