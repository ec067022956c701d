// Blocks that begin with a type and have an array behind it, allocated by one line each.
#include <stdlib.h>
#include <string.h>

struct flexible {  // 32 bytes, 24 in order, and the text behind it
  char kind;
  double weight;
  int count;
  double height;
  char text[];
};
struct hacked {  // text continues behind it, so that it has to stay the last field
  short place;
  long length;
  char flag;
  long next;
  char text[8];
};

static void* kept[8000];

__attribute__((noinline)) static void keep_flexible(int place, size_t length) {
  struct flexible* made = malloc(sizeof(struct flexible) + length);
  memset(made, 1, sizeof *made + length);
  kept[place] = made;
}

__attribute__((noinline)) static void keep_hacked(int place, size_t length) {
  struct hacked* made = malloc(sizeof(struct hacked) + length);
  memset(made, 1, sizeof *made + length);
  kept[place] = made;
}

int main(void) {
  for (int i = 0; i < 4000; ++i) keep_flexible(i, i % 2 == 0 ? 32 : 48);
  for (int i = 4000; i < 8000; ++i) keep_hacked(i, 32);
  return kept[7999] == NULL;
}
