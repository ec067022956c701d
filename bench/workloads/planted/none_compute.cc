// Computes, and allocates next to nothing. lens: none; record: plain
#include "ballast.h"

int main() {
  std::uint64_t sum = 0;
  for (int i = 0; i < 100'000'000; ++i) sum += planted::random_word();
  planted::sink = sum;
  void* block = std::malloc(100);
  planted::fill(block, 100);
  planted::sink = *static_cast<unsigned char*>(block);
  std::free(block);
}
