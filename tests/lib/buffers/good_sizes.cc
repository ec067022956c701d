// Compares tare::good_size with malloc_usable_size for every n up to 64 KiB and says what it found; run under
// LD_PRELOAD of an allocator. Prints the source, how many sizes differ, how many good sizes are no good sizes
// themselves, and the first differences.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "tare/good_size.h"

int main() {
  static char buffer[1 << 16];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);  // stdio must not allocate between the blocks
  int different = 0;
  int unstable = 0;
  std::size_t first_different = 0;
  for (std::size_t n = 1; n <= 64 * 1024; ++n) {
    const std::size_t good = tare::good_size(n);
    void* volatile block = std::malloc(n);
    const std::size_t usable = malloc_usable_size(block);
    std::free(block);
    if (good != usable && ++different == 1) first_different = n;
    if (good < n || tare::good_size(good) != good) ++unstable;
  }
  const std::string_view source = tare::name_of(tare::good_size_source());
  std::printf("%.*s %d %d %zu\n", static_cast<int>(source.size()), source.data(), different, unstable, first_different);
}
