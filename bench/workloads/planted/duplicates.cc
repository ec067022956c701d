// Texts of 100 different contents. lens: duplicates; record: --content; share: 40 %
#include "ballast.h"

int main() {
  constexpr std::size_t kTexts = 200'000, kContents = 100, kLength = 55;
  planted::Ballast ballast(16 << 20);
  auto** texts = static_cast<char**>(std::malloc(kTexts * sizeof(char*)));
  char contents[kContents][kLength + 1];
  for (std::size_t i = 0; i < kContents; ++i)
    std::snprintf(contents[i], sizeof contents[i], "the name of category %05zu of all the categories there", i);
  for (std::size_t i = 0; i < kTexts; ++i) {
#ifdef FIXED
    texts[i] = contents[i % kContents];
#else
    texts[i] = static_cast<char*>(std::malloc(kLength + 1));
    std::memcpy(texts[i], contents[i % kContents], kLength + 1);
#endif
  }
  planted::sink = ballast.use(10) + static_cast<unsigned char>(texts[kTexts / 2][3]);
#ifndef FIXED
  for (std::size_t i = 0; i < kTexts; ++i) std::free(texts[i]);
#endif
  std::free(texts);
  planted::truth((kTexts - kContents) * 64);
}
