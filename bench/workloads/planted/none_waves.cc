// Three generations of records, each freed before the next. lens: none; record: plain
#include "ballast.h"

int main() {
  for (std::size_t wave = 1; wave <= 3; ++wave) {
    planted::Ballast ballast((8 * wave) << 20);
    planted::sink = ballast.use(10);
  }
}
