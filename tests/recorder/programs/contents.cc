// Writes parts of blocks in every way there is, and says what of each it wrote: SIZE WRITTEN, in the order in which the
// blocks end. Then it checks that nothing but unwritten bytes differs from what it wrote.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void end(char* block, size_t size, size_t written) {
  printf("%zu %zu\n", size, written);
  free(block);
}

static void expect(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static size_t resident_kib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss);
}

int main() {
  setvbuf(stdout, nullptr, _IONBF, 0);
  char* block = static_cast<char*>(malloc(1001));
  memset(block, 'a', 17);
  end(block, 1001, 17);

  block = static_cast<char*>(calloc(7, 143));
  for (int i = 0; i < 1001; ++i) expect(block[i] == 0, "calloc's block isn't zero");
  block[499] = 1;
  end(block, 1001, 500);

  block = static_cast<char*>(aligned_alloc(128, 1152));
  block[9] = 'x';
  end(block, 1152, 10);

  void* aligned = nullptr;
  expect(posix_memalign(&aligned, 4096, 8192) == 0, "posix_memalign");
  end(static_cast<char*>(aligned), 8192, 0);

  // Grown twice: what was written stays, only the new parts are filled.
  block = static_cast<char*>(malloc(100));
  memset(block, 'b', 50);
  printf("100 50\n");
  block = static_cast<char*>(realloc(block, 5000));
  printf("5000 50\n");
  block = static_cast<char*>(realloc(block, 300000));
  for (int i = 0; i < 50; ++i) expect(block[i] == 'b', "realloc lost what was written");
  block[200000] = 'c';
  end(block, 300000, 200001);

  block = static_cast<char*>(malloc(4000));
  memset(block, 'd', 300);
  printf("4000 300\n");
  block = static_cast<char*>(realloc(block, 400));  // shrunk
  end(block, 400, 300);

  // What the program writes beyond its request after it asked may be written, and must survive.
  block = static_cast<char*>(malloc(100));
  const size_t usable = malloc_usable_size(block);
  memset(block, 'e', usable);
  block = static_cast<char*>(realloc(block, 2000));
  for (size_t i = 0; i < usable; ++i) expect(block[i] == 'e', "realloc lost what was written to usable bytes");
  end(block, 2000, usable);

  // Large and mostly untouched: it must stay so.
  const size_t kHuge = size_t{256} << 20;
  const size_t before = resident_kib();
  block = static_cast<char*>(malloc(kHuge));
  block[5 << 20] = 1;
  end(block, kHuge, (5 << 20) + 1);
  expect(resident_kib() < before + (32 << 10), "an untouched block was touched");

  // A failed realloc leaves the block and what is known of it.
  block = static_cast<char*>(malloc(600));
  memset(block, 'f', 200);
  volatile size_t huge = static_cast<size_t>(-4096);
  expect(realloc(block, huge) == nullptr, "realloc of nearly everything succeeded");
  end(block, 600, 200);

  // A stack with a guard page, freed as it is: it must not be read.
  expect(posix_memalign(&aligned, 4096, 65536) == 0, "posix_memalign");
  expect(mprotect(aligned, 4096, PROT_NONE) == 0, "mprotect");
  mprotect(aligned, 4096, PROT_READ | PROT_WRITE);
  static_cast<char*>(aligned)[100] = 1;
  end(static_cast<char*>(aligned), 65536, 101);

  expect(posix_memalign(&aligned, 4096, 65536) == 0, "posix_memalign");
  static_cast<char*>(aligned)[61440] = 1;
  expect(mprotect(static_cast<char*>(aligned) + 61440, 4096, PROT_NONE) == 0, "mprotect");
  printf("65536 65536\n");
  free(aligned);
  return 0;
}
