// A table that is built once and read all the time. lens: none; record: --content
#include "ballast.h"

int main() {
  constexpr std::size_t kRows = 20'000, kRow = 800;
  auto** rows = static_cast<std::uint32_t**>(std::malloc(kRows * sizeof(void*)));
  for (std::size_t i = 0; i < kRows; ++i) {
    rows[i] = static_cast<std::uint32_t*>(std::malloc(kRow));
    planted::fill(rows[i], kRow);
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 200 * kRows; ++i) sum += rows[planted::random_word() % kRows][i % (kRow / 4)];
  planted::sink = sum;
  for (std::size_t i = 0; i < kRows; ++i) std::free(rows[i]);
  std::free(rows);
}
