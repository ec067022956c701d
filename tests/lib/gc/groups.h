// Groups of heaps, one for each scheme, for tests.
#pragma once

#include "tare/gc/barrier.h"
#include "tare/internal/gc/decoding_variants.h"

namespace tare::gc::testing {

template <class SomeDecoding>
struct GroupOf {
  using Decoding = SomeDecoding;
  static constexpr std::size_t kCageBytes = std::size_t{1} << 30;
};

template <class SomeDecoding>
struct GenerationalGroupOf : GroupOf<SomeDecoding> {
  static constexpr WriteBarrier kWriteBarrier = WriteBarrier::Generational;
};

using SplitGroup = GroupOf<SplitDecoding<1>>;
using SeedGroup = GroupOf<SeedDecoding<2>>;
using Seed16Group = GroupOf<SeedDecoding<3, 3>>;
using LowGroup = GroupOf<LowDecoding<4>>;
using ThreadBaseGroup = GroupOf<ThreadBaseDecoding<5>>;
using ShiftlessGroup = GroupOf<ShiftlessDecoding<6>>;
// 7, 9, 13, 14 and 15 are other tests'.
using GenerationalGroup = GenerationalGroupOf<SplitDecoding<8>>;
using GenerationalSeedGroup = GenerationalGroupOf<SeedDecoding<10>>;
using GenerationalLowGroup = GenerationalGroupOf<LowDecoding<11>>;

}  // namespace tare::gc::testing
