// A program with Bytes and nothing else of the library.
#include "tare/bytes.h"

int main() {
  const tare::Bytes all = tare::Bytes::copy("net and tare", 12);
  const tare::Bytes part = all.slice(8);
  return part.text() == "tare" ? 0 : 1;
}
