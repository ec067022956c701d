// Groups of heaps, one for each scheme, for tests.
#pragma once

#include "tare/gc/decoding_variants.h"

namespace tare::gc::testing {

template <class SomeDecoding>
struct GroupOf {
  using Decoding = SomeDecoding;
  static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
};

using SplitGroup = GroupOf<SplitDecoding<1>>;
using SeedGroup = GroupOf<SeedDecoding<2>>;
using Seed16Group = GroupOf<SeedDecoding<3, 3>>;
using LowGroup = GroupOf<LowDecoding<4>>;
using ThreadBaseGroup = GroupOf<ThreadBaseDecoding<5>>;
using ShiftlessGroup = GroupOf<ShiftlessDecoding<6>>;

}  // namespace tare::gc::testing
