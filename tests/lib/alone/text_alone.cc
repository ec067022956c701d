// A program with a TextStream, which gives its text away as Bytes, and nothing else of the library.
#include "tare/text_stream.h"

int main() {
  tare::TextStream out;
  for (int i = 0; i < 100; ++i) out << i << ' ';
  const tare::Bytes text = out.take();
  return text.text().starts_with("0 1 2 ") ? 0 : 1;
}
