// Large arrays that are written and read. lens: none; record: --content
#include "ballast.h"

int main() {
  std::uint32_t* arrays[16];
  for (auto*& array : arrays) {
    array = static_cast<std::uint32_t*>(std::malloc(1 << 20));
    planted::fill(array, 1 << 20);
  }
  for (int round = 0; round < 40; ++round) {
    for (auto* array : arrays) {
      for (std::size_t i = 0; i < (1 << 18); ++i) planted::sink = array[i] ^= 2;
    }
  }
  for (auto* array : arrays) std::free(array);
}
