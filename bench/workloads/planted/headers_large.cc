// Small records that are allocated one by one: a third of the heap is headers and rounding. lens: headers; record:
// plain; share: 35 %
#include "ballast.h"

int main() {
  constexpr std::size_t kRecords = 400'000;
  planted::Ballast ballast(4 << 20);
  auto** all = static_cast<std::uint32_t**>(std::malloc(kRecords * sizeof(void*)));
#ifdef FIXED
  auto* records = static_cast<std::uint32_t*>(std::malloc(kRecords * 16));
#endif
  for (std::size_t i = 0; i < kRecords; ++i) {
#ifdef FIXED
    all[i] = records + 4 * i;
#else
    all[i] = static_cast<std::uint32_t*>(std::malloc(16));
#endif
    planted::fill(all[i], 16);
  }
  planted::sink = ballast.use(10);
#ifdef FIXED
  std::free(records);
#else
  for (std::size_t i = 0; i < kRecords; ++i) std::free(all[i]);
#endif
  std::free(all);
  planted::truth(kRecords * 16);
}
