// Compares a model with the allocator that this process runs on: model-sizes MODEL STEP. Prints how many of the
// sizes up to 1 MiB differ, and the first of them with both answers; from 160 KiB on it takes every STEP-th.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "tare/size_classes.h"

int main(int argc, char** argv) {
  const tare::SizeModel* model = argc == 3 ? tare::find_size_model(argv[1]) : nullptr;
  if (model == nullptr) return 2;
  std::size_t different = 0;
  std::size_t first = 0;
  std::size_t first_usable = 0;
  constexpr std::size_t kAll = std::size_t{160} << 10;
  const std::size_t step = std::strtoul(argv[2], nullptr, 10);
  for (std::size_t n = 1; n <= std::size_t{1} << 20; n += n < kAll ? 1 : step) {
    void* block = std::malloc(n);
    if (block == nullptr) return 1;
    const std::size_t usable = malloc_usable_size(block);
    std::free(block);
    if (usable == tare::size_class(*model, n).usable_bytes) continue;
    if (different++ == 0) {
      first = n;
      first_usable = usable;
    }
  }
  std::printf("%zu %zu %zu %zu\n", different, first, first_usable, tare::size_class(*model, first).usable_bytes);
}
