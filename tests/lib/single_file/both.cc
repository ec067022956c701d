// Both single-file copies in one program, with their implementations.
#define TARE_IMPLEMENTATION
#include "tare_text.h"
// After it, as what both have in common comes once.
#include "tare_arena.h"

int more_of_both();  // in another file, without the implementations

int main() {
  tare::TextStream out;
  out << "pi " << 3.25;
  out.print(" %.2f", 2.5);
  tare::Arena arena;
  const std::string_view copy = arena.copy(out.take().text());
  return copy == "pi 3.25 2.50" && more_of_both() == 3 ? 0 : 1;
}
