// Results whose last pointer is dropped. lens: leaks; record: --content; share: 15 %
#include "ballast.h"

[[gnu::noinline]] std::uint64_t evaluate(std::size_t step) {
  auto* result = static_cast<std::uint64_t*>(std::malloc(1000));
  planted::fill(result, 1000);
  const std::uint64_t value = result[step % 125];
#ifdef FIXED
  std::free(result);
#endif
  return value;
}

int main() {
  constexpr std::size_t kResults = 4000;
  planted::Ballast ballast(24 << 20);
  for (std::size_t i = 0; i < kResults; ++i) {
    planted::sink = evaluate(i);
    if (i % 400 == 0) planted::sink = ballast.use();
  }
  planted::truth(kResults * 1008);
}
