// Lists that doubled their capacity and use a little more than half of it. lens: headroom; record: --content; share: 25
// %
#include "ballast.h"

static std::uint32_t* lists[2000];

int main() {
  constexpr std::size_t kUsed = 1100, kCapacity = 2048;
  planted::Ballast ballast(24 << 20);
  for (auto*& list : lists) {
    std::size_t capacity = 4;
    list = static_cast<std::uint32_t*>(std::malloc(capacity * 4));
    for (std::size_t i = 0; i < kUsed; ++i) {
      if (i == capacity) list = static_cast<std::uint32_t*>(std::realloc(list, (capacity *= 2) * 4));
      list[i] = static_cast<std::uint32_t>(planted::random_word()) | 0x8000'0001;
    }
#ifdef FIXED
    list = static_cast<std::uint32_t*>(std::realloc(list, kUsed * 4));
#endif
  }
  planted::sink = ballast.use(10);
  planted::truth(2000 * (kCapacity - kUsed) * 4);
}
