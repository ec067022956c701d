// Holds blocks in every way that marking must know, and loses some: see test_snapshots.py. Sizes tell them apart.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Node {
  struct Node* next;
  char text[120];
};

static struct Node* volatile global_list;
static char* volatile interior_only;
static __thread char* volatile in_tls;
static pthread_barrier_t started;

__attribute__((noinline)) static struct Node* make_node(struct Node* next) {
  struct Node* node = malloc(sizeof *node);
  memset(node, 0, sizeof *node);
  node->next = next;
  strcpy(node->text, "one of many");
  return node;
}

__attribute__((noinline)) static void lose_list(int nodes) {
  struct Node* head = NULL;
  for (int i = 0; i < nodes; ++i) head = make_node(head);
}

__attribute__((noinline)) static void lose_buffers(int count) {
  for (int i = 0; i < count; ++i) {
    char* volatile buffer = malloc(4001);
    memset(buffer, i + 1, 4001);
  }
}

__attribute__((noinline)) static void hold_text(char** texts, int count) {
  for (int i = 0; i < count; ++i) {
    texts[i] = malloc(201);
    memset(texts[i], 'a' + i % 4, 200);
    texts[i][200] = 0;
  }
}

// Pointers left by dead frames would keep lost blocks alive.
__attribute__((noinline)) static void clear_stack(void) {
  volatile char dead[1 << 16];
  for (size_t i = 0; i < sizeof dead; ++i) dead[i] = 0;
}

static void* hold_on_stack(void* unused) {
  in_tls = malloc(7001);
  memset((char*)in_tls, 7, 7001);
  char* volatile local = malloc(9001);
  memset(local, 9, 9001);
  pthread_barrier_wait(&started);
  for (;;) pause();
  return unused;
}

static char* texts[1000];

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&started, NULL, 2);
  pthread_create(&thread, NULL, hold_on_stack, NULL);
  pthread_barrier_wait(&started);
  for (int i = 0; i < 100; ++i) global_list = make_node(global_list);
  interior_only = (char*)malloc(5001) + 100;
  hold_text(texts, 1000);
  lose_list(1000);
  lose_buffers(50);
  clear_stack();
  puts("done");
  return 0;
}
