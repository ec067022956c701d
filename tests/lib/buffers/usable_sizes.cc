// Prints "requested usable" of malloc for the sizes that size_classes_test asks about; run under LD_PRELOAD of an
// allocator.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "sizes_to_ask.h"

int main() {
  // glibc: a threshold that stays, and no free memory at the heap's end that a large request could be served from
  // instead of by a mapping (the start of libstdc++ leaves 128 KiB there). Other allocators have no such call or ignore
  // it.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_TOP_PAD, 0);
  mallopt(M_TRIM_THRESHOLD, 0);
  static void* volatile end_of_heap = nullptr;
  end_of_heap = std::malloc(100 * 1024);
  static char buffer[1 << 16];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);  // stdio must not allocate between the blocks
  for_each_size_to_ask([](std::size_t size) {
    void* block = std::malloc(size);
    std::printf("%zu %zu\n", size, block ? malloc_usable_size(block) : 0);
    std::free(block);
  });
  std::free(end_of_heap);
}
