// New shapes, and counts beyond 32 bits: see shape_book.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/shape_book.h"

#include <algorithm>
#include <cmath>

namespace tare::core {
namespace {

constexpr double kMostWeighted = 0x1p50;

std::uint64_t weighted_q(std::uint64_t bytes, double weight) {
  if (weight == 1) return std::min(bytes, kMostBytes) << kFractionBits;  // all of them, unless sampled
  const double value = static_cast<double>(std::min(bytes, kMostBytes)) * weight;
  return static_cast<std::uint64_t>(std::llround(std::min(value, kMostWeighted) * kFraction));
}

double sane_weight(double weight) { return weight >= 1.0 && weight <= kMostWeighted ? weight : 1.0; }

}  // namespace

ShapeSums ShapeBook::sums_of(const trace::Shape& shape) const {
  const double weight = sampled_ ? sane_weight(shape.weight) : 1.0;
  const std::uint64_t usable = std::min(shape.usable_bytes, kMostBytes);
  ShapeSums of;
  of.requested_q = weighted_q(shape.requested_bytes, weight);
  of.usable_q = weighted_q(usable, weight);
  of.gross_q = weighted_q(usable + header_bytes(info_.allocator, shape.api, usable), weight);
  of.stack = shape.stack;
  return of;
}

void ShapeBook::extend(const trace::Dictionary& dictionary, std::size_t count) {
  const std::size_t have = sums.size();
  make_room(sums, count);
  for (std::size_t shape = have; shape < count; ++shape) {
    sums.push_back(sums_of(dictionary.shapes[shape]));
    if (sampled_) weights_q_.push_back(weighted_q(1, sane_weight(dictionary.shapes[shape].weight)));
  }
  make_room(live_at_peak, count);
  live_at_peak.resize(count);
}

std::uint64_t ShapeBook::ended(std::uint32_t shape, std::size_t age) const {
  const auto carries = carries_.find(std::uint64_t{shape} * kAgeClasses + age);
  return sums[shape].ended[age] + (carries == carries_.end() ? 0 : carries->second << 32);
}

}  // namespace tare::core
