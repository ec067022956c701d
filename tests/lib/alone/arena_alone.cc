// A program with an Arena and nothing else of the library.
#include "tare/arena.h"

int main() {
  tare::Arena arena;
  const int* number = arena.make<int>(7);
  return number != nullptr && *number == 7 && arena.copy("tare") == "tare" ? 0 : 1;
}
