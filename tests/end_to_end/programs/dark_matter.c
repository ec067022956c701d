/* Holds blocks that it reports, in every way right and wrong. With an argument, only right ones.
   Allocates nothing behind its own back: no stdio. */
#include <stdlib.h>
#include <unistd.h>

#include "tare/reporter.h"

#define COUNT 100

struct cache {
  void* entries[COUNT];
};
static struct cache* cache;
static void* volatile nobodys[COUNT];
static void* session;
static char* slab;
static tare_pool pool;

__attribute__((noinline)) static void fill_cache(void) {
  int i;
  cache = (struct cache*)malloc(sizeof *cache); /* 800 */
  for (i = 0; i < COUNT; i++) cache->entries[i] = malloc(1000);
}

__attribute__((noinline)) static void forget_things(void) {
  int i;
  for (i = 0; i < COUNT; i++) nobodys[i] = malloc(500);
}

__attribute__((noinline)) static void* open_session(void) { return malloc(3000); }

__attribute__((noinline)) static void report_cache(void) {
  int i;
  tare_report(cache, "explicit/cache/table");
  for (i = 0; i < COUNT; i++) tare_report(cache->entries[i], "explicit/cache/entries");
}

__attribute__((noinline)) static void report_table_too(void) { tare_report(cache, "explicit/tables"); }

int main(int argc, char** argv) {
  const int is_wrong = argc < 2;
  int i;
  (void)argv;
  fill_cache();
  pool = tare_pool_create("cells");
  slab = (char*)malloc(1024);
  tare_pool_grow(pool, slab, 1024);
  for (i = 0; i < 8; i++) tare_pool_alloc(pool, slab + 64 * i, 64);
  if (is_wrong) {
    forget_things();
    session = open_session();
    tare_report(session, "explicit/sessions/7"); /* in the first round only: its owner forgets it */
  }
  tare_clear_reports();
  report_cache();
  for (i = 0; i < 8; i++) tare_report(slab + 64 * i, "explicit/cells");
  tare_report(slab, "explicit/cells"); /* what the pool doesn't hand out; unknown as a block: a cell begins there */
  if (is_wrong) {
    report_table_too();
    tare_report((char*)cache + 8, "explicit/interior");
  }
  for (i = 0; i < COUNT; i++) free(cache->entries[i]);
  free(cache);
  return 0;
}
