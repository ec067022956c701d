// The weight of a sample at its realloc, if the distance between samples has doubled since it was taken.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "trace/model/sampling_rules.h"

namespace tare::core {

// The octave by which the recorder decides about a block.
constexpr int sampling_octave(std::uint64_t usable_bytes) {
  const int octave = static_cast<int>(std::bit_width(usable_bytes + trace::kOctaveHeaderBytes)) - 1;
  return std::max(octave, trace::kSmallestOctave);
}

// A realloc thins its old block to the distance of the new one, whose weight shows that distance: p = 1 - exp(-s / B),
// and the sizes s of two octaves differ by a power of two. The trace has the old block with the weight of its birth.
// Where the new block is certain to be a sample, B is unknown, and the old block is nearly certain, too. Only for
// recordings with a budget.
inline double thinned_weight(double old_weight, std::uint64_t old_usable_bytes, double weight,
                             std::uint64_t usable_bytes) {
  if (weight <= 1) return old_weight;
  const int octaves = sampling_octave(old_usable_bytes) - sampling_octave(usable_bytes);
  const double of_distance = -1 / std::expm1(std::log1p(-1 / weight) * std::ldexp(1.0, octaves));
  return of_distance > old_weight * 1.001 ? of_distance : old_weight;  // less is rounding
}

}  // namespace tare::core
