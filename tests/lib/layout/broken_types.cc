// Types that tare/layout.h must refuse: each test compiles one of them, -DBROKEN=N, and looks for the message. Without
// any of them it compiles.
#include <cstdint>
#include <string>

#include "tare/layout.h"

struct Loose {  // 4 bytes between, 4 behind
  std::uint32_t id;
  void* next;
  std::uint32_t count;
};
struct Weighed {
  double weight;
};
struct Named {
  std::string name;
};
struct Bits {
  std::uint32_t low : 20;
  std::uint32_t high : 12;
  std::string name;
};
struct alignas(32) Wide {
  char bytes[32];
};

#if BROKEN == 1
TARE_ASSERT_PACKED(Loose, &Loose::id, &Loose::next, &Loose::count);
#elif BROKEN == 2
TARE_ASSERT_PACKED(Loose);
#elif BROKEN == 3
TARE_ASSERT_PACKED(Named);
#elif BROKEN == 4
TARE_ASSERT_PACKED(Loose, &Loose::id, &Loose::next, &Loose::count, &Loose::id, &Loose::count);
#elif BROKEN == 5
TARE_ASSERT_PACKED(Bits, &Bits::low, &Bits::name);
#elif BROKEN == 6
TARE_ASSERT_SIZE_CLASS(Named);
#elif BROKEN == 7
TARE_ASSERT_SIZE_CLASS(Weighed, tare::size_models::glibc, 15);
#elif BROKEN == 8
TARE_ASSERT_SIZE_CLASS(Wide);
#elif BROKEN == 9
TARE_ASSERT_PACKED(Weighed);
#else
TARE_ASSERT_PACKED(Weighed, &Weighed::weight);
TARE_ASSERT_PACKED(Named, &Named::name);
TARE_ASSERT_SIZE_CLASS(Weighed, tare::size_models::glibc, 16);
TARE_ASSERT_SIZE_CLASS(Weighed, tare::size_models::jemalloc);
#endif
