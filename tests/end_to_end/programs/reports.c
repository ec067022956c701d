/* Reports three blocks, tells of a pool, and prints what the recorder must have heard: "PATH BYTES" a line.
   With -DPART only the function, for a library; with -DUSER only the program, which finds it in the library that
   it is given, or is linked with. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef USER
#include <dlfcn.h>
#else
#include "tare/reporter.h"
#endif

#ifdef __cplusplus
extern "C"
#endif
    int
    report_things(void);

#ifndef USER
int report_things(void) {
  static void* kept[4];
  char* slab;
  tare_pool pool;
  int i;
  for (i = 0; i < 4; i++) {
    kept[i] = malloc(100 * (size_t)(i + 1));
    if (kept[i] == NULL) return 1;
  }
  tare_report_on_alloc(kept[3], "explicit/kept");
  tare_report(kept[2], "explicit/an-earlier-round");
  tare_clear_reports();
  tare_report(kept[0], "explicit/first");
  tare_report(kept[1], "explicit/second");

  pool = tare_pool_create("cells");
  slab = (char*)malloc(1024);
  if (slab == NULL) return 1;
  tare_pool_grow(pool, slab, 1024);
  for (i = 0; i < 8; i++) tare_pool_alloc(pool, slab + 64 * i, 64);
  for (i = 0; i < 3; i++) tare_pool_free(pool, slab + 64 * i);
  printf("explicit/first %lu\nexplicit/second %lu\nexplicit/kept %lu\n", (unsigned long)malloc_usable_size(kept[0]),
         (unsigned long)malloc_usable_size(kept[1]), (unsigned long)malloc_usable_size(kept[3]));
  return 0;
}
#endif

#ifndef PART
int main(int argc, char** argv) {
#ifdef USER
  int flags = RTLD_NOW | RTLD_LOCAL;
  void* library;
  void* function;
  int (*report)(void);
#endif
  if (argc < 2) return report_things();
#ifdef USER
  if (argc > 2) flags |= RTLD_DEEPBIND;
  library = dlopen(argv[1], flags);
  function = library == NULL ? NULL : dlsym(library, "report_things");
  if (function == NULL) return 2;
  *(void**)&report = function;
  return report();
#else
  (void)argv;
  return 2;
#endif
}
#endif
