// A program with a Buffer and nothing else of the library.
#include "tare/buffer.h"

int main() {
  tare::Buffer<int> numbers;
  for (int i = 0; i < 100; ++i) {
    if (!numbers.append(i)) return 1;
  }
  return numbers[99] == 99 ? 0 : 1;
}
