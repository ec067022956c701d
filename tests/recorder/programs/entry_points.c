// Calls every C entry point once, with a size of its own, and prints what malloc_usable_size says.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void show(const char* name, void* block) { printf("%s %zu\n", name, malloc_usable_size(block)); }

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  void* p = NULL;
  show("malloc", malloc(1001));
  show("calloc", calloc(7, 143));
  show("realloc-null", realloc(NULL, 1003));
  show("memalign", memalign(64, 1004));
  show("aligned_alloc", aligned_alloc(128, 1152));
  if (posix_memalign(&p, 256, 1006) != 0) return 1;
  show("posix_memalign", p);
  show("valloc", valloc(1007));
  show("pvalloc", pvalloc(1008));
  show("reallocarray", reallocarray(NULL, 3, 337));
  void* grown = malloc(1010);
  grown = realloc(grown, 100010);
  show("realloc", grown);
  void* mapped = malloc(2000011);
  show("mmapped", mapped);
  mapped = realloc(mapped, 4000012);
  show("mremapped", mapped);
  void* gone = malloc(1013);
  void* volatile none = realloc(gone, 0);
  if (none != NULL) return 2;
  free(malloc(1014));
  free(NULL);
  volatile size_t huge = (size_t)-4096;
  if (malloc(huge) != NULL || calloc(huge, 2) != NULL || reallocarray(grown, huge, 2) != NULL) return 3;
  void* area = mmap(NULL, 123 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  area = mremap(area, 123 << 12, 456 << 12, MREMAP_MAYMOVE);
  munmap(area, 456 << 12);
  sbrk(4096);
  return 0;
}
