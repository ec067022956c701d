// Texts that grow by 16 bytes a time, while others take the place behind them. lens: growth; record: plain; calls
#include "ballast.h"

int main() {
  constexpr std::size_t kTexts = 400, kSteps = 2000;
  planted::Ballast ballast(8 << 20);
  char* texts[2] = {nullptr, nullptr};
  for (std::size_t round = 0; round < kTexts / 2; ++round) {
#ifdef FIXED
    for (char*& text : texts) text = static_cast<char*>(std::malloc(16 * kSteps));
#endif
    for (std::size_t step = 1; step <= kSteps; ++step) {
      for (char*& text : texts) {
#ifndef FIXED
        text = static_cast<char*>(std::realloc(text, 16 * step));
#endif
        planted::fill(text + 16 * (step - 1), 16);
      }
    }
    for (char*& text : texts) {
      planted::sink = static_cast<unsigned char>(text[99]);
      std::free(text);
      text = nullptr;
    }
  }
  planted::sink = ballast.use();
  planted::truth(kTexts * (kSteps - 1));
}
