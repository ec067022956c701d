// A block for each message, freed at once. lens: churn; record: plain; calls
#include "ballast.h"

[[gnu::noinline]] std::uint64_t digest(std::size_t message) {
#ifdef FIXED
  std::uint64_t kept[12];
  auto* volatile words = kept;
#else
  auto* volatile words = static_cast<std::uint64_t*>(std::malloc(96));
#endif
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 12; ++i) words[i] = message * (i + 1);
  for (std::size_t i = 0; i < 12; ++i) sum = sum * 31 + words[i];
#ifndef FIXED
  std::free(words);
#endif
  return sum;
}

int main() {
  constexpr std::size_t kMessages = 4'000'000;
  planted::Ballast ballast(8 << 20);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kMessages; ++i) sum += digest(i);
  planted::sink = sum + ballast.use();
  planted::truth(kMessages);
}
