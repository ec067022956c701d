// One function allocates for two callers: a little for the first, nearly everything for the second.
#include <stdlib.h>
#include <string.h>

enum { kFew = 10, kMany = 40000 };

__attribute__((noinline)) static char* copy_text(const char* text) {
  char* copy = malloc(strlen(text) + 1);
  if (copy != NULL) strcpy(copy, text);
  return copy;
}

__attribute__((noinline)) static char* read_option(int number) {
  char* copy = copy_text("an option");
  if (copy != NULL) copy[0] = (char)('a' + number % 26);
  return copy;
}

__attribute__((noinline)) static char* read_word(int number) {
  char* copy = copy_text("a word");
  if (copy != NULL) copy[0] = (char)('a' + number % 26);
  return copy;
}

int main(void) {
  static char* kept[kFew + kMany];
  for (int i = 0; i < kFew; ++i) kept[i] = read_option(i);
  for (int i = 0; i < kMany; ++i) kept[kFew + i] = read_word(i);
  return kept[kFew] == NULL;
}
