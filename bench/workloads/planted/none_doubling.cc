// A buffer that doubles and is used to its end. lens: none; record: plain
#include "ballast.h"

int main() {
  planted::Ballast ballast(8 << 20);
  for (int round = 0; round < 50; ++round) {
    std::size_t capacity = 64;
    auto* words = static_cast<std::uint32_t*>(std::malloc(capacity * 4));
    for (std::size_t i = 0; i < (1 << 16); ++i) {
      if (i == capacity) words = static_cast<std::uint32_t*>(std::realloc(words, (capacity *= 2) * 4));
      words[i] = static_cast<std::uint32_t>(planted::random_word()) | 0x8000'0001;
    }
    planted::sink = words[round];
    std::free(words);
  }
  planted::sink = ballast.use();
}
