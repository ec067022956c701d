// Pools with children, above malloc. Each thread makes pools, fills them, and ends some by a reset or by their parent's
// end. At the end 100 blocks of 24 bytes, 50 of 200 and one string of 12 are live in each thread's last pool.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node* next;
  size_t used;
  char bytes[8168];
};

struct pool {
  struct pool* parent;
  struct pool* child;
  struct pool* next;
  struct node* nodes;
};

struct pool* current_pool;

// A function that begins with a call can't be replaced.
#define INLINE static inline __attribute__((always_inline))

INLINE struct pool* new_pool(struct pool* parent) {
  struct pool* const pool = calloc(1, sizeof *pool);
  pool->parent = parent;
  if (parent != NULL) {
    pool->next = parent->child;
    parent->child = pool;
  }
  return pool;
}

INLINE void* take(struct pool* pool, size_t bytes) {
  bytes = (bytes + 15) & ~(size_t)15;
  if (pool->nodes == NULL || sizeof pool->nodes->bytes - pool->nodes->used < bytes) {
    struct node* const node = malloc(sizeof *node);
    node->next = pool->nodes;
    node->used = 0;
    pool->nodes = node;
  }
  void* const block = pool->nodes->bytes + pool->nodes->used;
  pool->nodes->used += bytes;
  return block;
}

static void drop(struct pool* pool) {
  while (pool->nodes != NULL) {
    struct node* const node = pool->nodes;
    pool->nodes = node->next;
    free(node);
  }
}

static void drop_all(struct pool* pool) {
  drop(pool);
  while (pool->child != NULL) {
    struct pool* const child = pool->child;
    pool->child = child->next;
    drop_all(child);
    free(child);
  }
}

__attribute__((noinline)) int pool_create(struct pool** made, struct pool* parent) {
  *made = new_pool(parent);
  return 0;
}
__attribute__((noinline)) void* pool_get(struct pool* pool, size_t bytes) { return take(pool, bytes); }
// Calls another described function.
__attribute__((noinline)) void* pool_get_zeroed(struct pool* pool, size_t bytes) {
  if (bytes > 4096) return NULL;
  return memset(pool_get(pool, bytes), 0, bytes);
}
__attribute__((noinline)) void* pool_get_current(size_t bytes) { return take(current_pool, bytes); }
__attribute__((noinline)) char* pool_text(struct pool* pool, int number) {
  char* const text = take(pool, 32);
  snprintf(text, 32, "number %d", number);
  return text;
}
__attribute__((noinline)) void* pool_resize(struct pool* pool, void* block, size_t bytes) {
  void* const larger = take(pool, bytes);
  if (block != NULL) memcpy(larger, block, 16);
  return larger;
}
static volatile int puts_seen;
__attribute__((noinline)) void pool_put(void* block) {
  if (block != NULL) puts_seen = puts_seen + 1;
}
__attribute__((noinline)) void pool_reset(struct pool* pool) {
  if (pool->nodes != NULL || pool->child != NULL) drop_all(pool);
}
__attribute__((noinline)) void pool_destroy(struct pool* pool) {
  struct pool** at = pool->parent == NULL ? NULL : &pool->parent->child;
  while (at != NULL && *at != pool) at = &(*at)->next;
  if (at != NULL) *at = pool->next;
  drop_all(pool);
  free(pool);
}

static void* work(void* unused) {
  (void)unused;
  for (int round = 0; round < 200; ++round) {
    struct pool* top;
    struct pool* below;
    struct pool* lowest;
    pool_create(&top, NULL);
    pool_create(&below, top);
    pool_create(&lowest, below);
    for (int i = 0; i < 50; ++i) {
      pool_get(top, 40);
      pool_get_zeroed(below, 56);
      pool_get(lowest, 72);
    }
    if (round % 2 == 0) pool_reset(below);  // ends the lowest
    pool_destroy(top);
  }
  struct pool* last;
  pool_create(&last, NULL);
  for (int i = 0; i < 150; ++i) {
    void* const block = pool_get(last, 24);
    if (i < 50) pool_resize(last, block, 200);
  }
  for (int i = 0; i < 20; ++i) pool_put(pool_get(last, 88));
  pool_text(last, 1234);
  return NULL;
}

int main(int count, char** arguments) {
  const int threads = count > 1 ? atoi(arguments[1]) : 0;
  pthread_t started[8];
  for (int i = 0; i < threads; ++i) pthread_create(&started[i], NULL, work, NULL);
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
  if (threads == 0) {
    work(NULL);
    pool_create(&current_pool, NULL);
    for (int i = 0; i < 7; ++i) pool_get_current(136);
  }
  return 0;
}
