// One waste for each argument, of a known amount: what `tare prove` predicts can be compared with it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 200000, TEMPORARIES = 50000, PAGES = 1000 };

struct node {
  struct node* next;
  char text[16];
};

// 24 bytes and a header of 8 each: slabs save a quarter.
__attribute__((noinline)) static struct node* make_node(struct node* next) {
  struct node* const node = malloc(sizeof *node);
  memset(node->text, 'n', sizeof node->text);
  node->next = next;
  return node;
}

// Freed at once: one kept block saves all calls but the first.
__attribute__((noinline)) static void format(int number) {
  char* const text = malloc(40);
  snprintf(text, 40, "%d", number);
  if (text[0] == '!') puts(text);
  free(text);
}

// 1,033 bytes, and usually 15 of slop.
__attribute__((noinline)) static char* make_page(void) {
  char* const page = malloc(1033);
  memset(page, 'p', 1033);
  return page;
}

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  if (strcmp(what, "nodes") == 0) {
    struct node* list = NULL;
    for (int i = 0; i < NODES; ++i) list = make_node(list);
    while (list != NULL) {
      struct node* const next = list->next;
      free(list);
      list = next;
    }
  } else if (strcmp(what, "temporaries") == 0) {
    for (int i = 0; i < TEMPORARIES; ++i) format(i);
  } else if (strcmp(what, "pages") == 0) {
    static char* pages[PAGES];
    for (int i = 0; i < PAGES; ++i) pages[i] = make_page();
    for (int i = 0; i < PAGES; ++i) free(pages[i]);
  } else {
    return strcmp(what, "nothing") == 0 ? 0 : 2;
  }
  return 0;
}
