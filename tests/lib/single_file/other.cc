#include "tare_arena.h"
#include "tare_text.h"

int more_of_both() {
  tare::Arena arena;
  char* line = static_cast<char*>(arena.allocate(4, 1));
  tare::FixedTextStream out(line, 4);
  out << "abcdef";
  return static_cast<int>(out.size());
}
