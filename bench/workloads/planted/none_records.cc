// Records of some hundred bytes in use. lens: none; record: --content
#include "ballast.h"

int main() {
  planted::Ballast ballast(24 << 20);
  planted::sink = ballast.use(20);
}
