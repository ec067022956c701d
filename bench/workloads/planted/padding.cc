// Objects with 14 bytes of padding, which another order of the fields saves. lens: padding; record: plain; share: 12 %
#include <vector>

#include "ballast.h"

#ifdef FIXED
struct Reading {
  double value;
  double weight;
  std::uint32_t sensor;
  std::uint32_t unit;
  bool valid;
  bool final;
};
#else
struct Reading {
  bool valid;
  double value;
  bool final;
  double weight;
  std::uint32_t sensor;
  std::uint32_t unit;
};
#endif

int main() {
  constexpr std::size_t kArrays = 4000, kEach = 100;
  planted::Ballast ballast(8 << 20);
  std::vector<std::vector<Reading>> arrays;
  arrays.reserve(kArrays);
  for (std::size_t i = 0; i < kArrays; ++i) {
    std::vector<Reading>& array = arrays.emplace_back(kEach);
    for (std::size_t k = 0; k < kEach; ++k) {
      Reading& reading = array[k];
      std::memset(static_cast<void*>(&reading), 1, sizeof reading);
      reading.value = static_cast<double>(planted::random_word());
      reading.weight = 1.5;
      reading.sensor = static_cast<std::uint32_t>(i * kEach + k) | 0x8000'0001;
    }
  }
  planted::sink = ballast.use(10) + static_cast<std::uint64_t>(arrays[7][3].value);
  planted::truth(kArrays * kEach * 8);
}
