// One waste for each argument, of a known amount: what `tare prove` predicts can be compared with it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 200000, TEMPORARIES = 50000 };

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

// Grows by 16 bytes 2,000 times; with room that doubles, by 7 reallocs.
__attribute__((noinline)) static char* grow(void) {
  char* text = malloc(16);
  for (int size = 32; size <= 2000 * 16; size += 16) {
    text = realloc(text, size);
    memset(text + size - 16, 't', 16);
  }
  return text;
}

// The same by hand: copies 1,999 x 2,000 / 2 x 16 bytes.
__attribute__((noinline)) static char* grow_by_hand(void) {
  char* text = NULL;
  for (int size = 16; size <= 2000 * 16; size += 16) {
    char* const larger = malloc(size);
    if (text != NULL) memcpy(larger, text, size - 16);
    free(text);
    memset(larger + size - 16, 't', 16);
    text = larger;
  }
  return text;
}

// 100 of 1,000 bytes are written.
__attribute__((noinline)) static char* make_record(void) {
  char* const record = malloc(1000);
  memset(record, 'r', 100);
  return record;
}

// Doubles to 512 bytes, of which 272 are used.
__attribute__((noinline)) static char* make_buffer(void) {
  int room = 16;
  char* buffer = malloc(room);
  for (int used = 0; used < 272; used += 16) {
    if (used == room) buffer = realloc(buffer, room *= 2);
    memset(buffer + used, 'b', 16);
  }
  return buffer;
}

__attribute__((noinline)) static char* copy_text(int number) {
  char* const text = malloc(200);
  memset(text, 'a' + number % 20, 199);
  text[199] = '\0';
  return text;
}

struct padded {
  char first;
  long number;
  char second;
  struct padded* next;
  char third;
};
__attribute__((noinline)) static struct padded* make_padded(struct padded* next) {
  struct padded* const made = malloc(sizeof *made);
  *made = (struct padded){'1', 7, '2', next, '3'};
  return made;
}

struct knot {
  struct knot* to[4];
};
__attribute__((noinline)) static struct knot* make_knot(struct knot* to) {
  struct knot* const knot = malloc(sizeof *knot);
  for (int i = 0; i < 4; ++i) knot->to[i] = to == NULL ? knot : to;
  return knot;
}

__attribute__((noinline)) static char** make_handle(void) { return malloc(sizeof(char*)); }
__attribute__((noinline)) static char* make_body(void) { return malloc(40); }

enum { SOME = 5000, MANY = 50000 };
static void* held[MANY];

static void make_held(void* (*make)(int), int count) {
  for (int i = 0; i < count; ++i) held[i] = make(i);
}
static void free_held(int count) {
  for (int i = 0; i < count; ++i) free(held[i]);
}
static void* record_of(int i) { return (void)i, make_record(); }
static void* buffer_of(int i) { return (void)i, make_buffer(); }
static void* text_of(int i) { return copy_text(i); }
static void* padded_of(int i) { return make_padded(i == 0 ? NULL : held[i - 1]); }
static void* knot_of(int i) { return make_knot(i == 0 ? NULL : held[i - 1]); }

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
  } else if (strcmp(what, "growth") == 0) {
    free(grow());
  } else if (strcmp(what, "growth by hand") == 0) {
    free(grow_by_hand());
  } else if (strcmp(what, "records") == 0) {
    make_held(record_of, SOME);
    free_held(SOME);
  } else if (strcmp(what, "buffers") == 0) {
    make_held(buffer_of, SOME);
    free_held(SOME);
  } else if (strcmp(what, "texts") == 0) {
    make_held(text_of, SOME);  // live at the exit
  } else if (strcmp(what, "leaks") == 0) {
    for (int i = 0; i < SOME; ++i) text_of(i);
    memset(held, 0, sizeof held);
  } else if (strcmp(what, "padding") == 0) {
    make_held(padded_of, MANY);
    free_held(MANY);
  } else if (strcmp(what, "knots") == 0) {
    make_held(knot_of, MANY);  // live at the exit
  } else if (strcmp(what, "pairs") == 0) {
    for (int i = 0; i < SOME; ++i) {
      char** const handle = make_handle();
      *handle = make_body();
      held[i] = handle;
    }
    for (int i = 0; i < SOME; ++i) {
      free(*(char**)held[i]);
      free(held[i]);
    }
  } else {
    return strcmp(what, "nothing") == 0 ? 0 : 2;
  }
  return 0;
}
