/* A tree whose nodes are half pointers, and a cache that is filled once while other work goes on. Looked at when the
   cache is filled: on a busy machine the looks at candidates for the peak come too late to see it lie for half of the
   time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../include/tare/reporter.h"

struct node { /* 40 bytes, 24 with 4-byte pointers and padding */
  struct node* left;
  struct node* right;
  struct node* parent;
  struct node* owner;
  long key;
};

struct node* root;
char* cache[512];
char* scratch[512];

static struct node* make_node(long key) {
  struct node* node = malloc(sizeof *node);
  node->left = node->right = node->parent = node->owner = node;
  node->key = key;
  return node;
}

static void fill_cache(void) {
  for (int i = 0; i < 512; ++i) {
    cache[i] = malloc(65536);
    for (int at = 0; at < 65536; ++at) cache[i][at] = (char)(i * 31 + at);
  }
}

static void work(int round) {
  for (int i = 0; i < 512; ++i) {
    free(scratch[i]);
    scratch[i] = malloc(4096);
    memset(scratch[i], round + i, 4096);
  }
}

int main(void) {
  struct node* last = root = make_node(0);
  for (long key = 1; key < 40000; ++key) {
    last->right = make_node(key);
    last = last->right;
  }
  fill_cache();
  tare_snapshot("filled");
  struct timespec pause = {0, 10 * 1000 * 1000};
  for (int round = 0; round < 100; ++round) {
    work(round);
    nanosleep(&pause, 0);
  }
  printf("%ld\n", last->key);
  return 0;
}
