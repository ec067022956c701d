// The sums of one dictionary's shapes: of the blocks that were recorded, or of those that existed before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/analysis/live_sums.h"
#include "core/analysis/shape_sums.h"
#include "trace/base/large_vector.h"
#include "trace/model/dictionary.h"
#include "trace/model/process_info.h"

namespace tare::core {

// All vectors are indexed by ShapeId.
class ShapeBook {
 public:
  trace::LargeVector<ShapeSums> sums;
  trace::LargeVector<std::uint32_t> live_at_peak;
  std::vector<std::uint32_t> live_at;  // at the requested time; empty: none was requested, or it wasn't passed

  explicit ShapeBook(const trace::ProcessInfo& info) : info_(info), sampled_(info.sample_bytes != 0) {}

  bool sampled() const { return sampled_; }
  bool contains(std::uint32_t shape) const { return shape < sums.size(); }
  // Makes entries for the shapes up to `count`, as the dictionary has them.
  void extend(const trace::Dictionary& dictionary, std::size_t count);

  // How many blocks each block of the shape stands for.
  std::uint64_t weight_q(std::uint32_t shape) const { return sampled_ ? weights_q_[shape] : 1u << kFractionBits; }
  double weight(std::uint32_t shape) const { return static_cast<double>(weight_q(shape)) / kFraction; }

  // Before a change of the shape's live blocks, unless that was done since the last peak.
  void save_if_older(std::uint32_t shape, std::uint32_t peak_epoch) {
    ShapeSums& of = sums[shape];
    if (of.epoch != peak_epoch) {
      live_at_peak[shape] = of.live;
      of.epoch = peak_epoch;
    }
  }
  void save_all(std::uint32_t peak_epoch) {
    for (std::uint32_t shape = 0; shape < sums.size(); ++shape) save_if_older(shape, peak_epoch);
  }
  void save_requested_time() {
    live_at.clear();
    for (const ShapeSums& of : sums) live_at.push_back(of.live);
  }

  void count_ended(std::uint32_t shape, std::size_t age) {
    if (++sums[shape].ended[age] == 0) [[unlikely]]
      ++carries_[std::uint64_t{shape} * kAgeClasses + age];
  }
  std::uint64_t ended(std::uint32_t shape, std::size_t age) const;  // without the carries a 32-bit count loses

  std::uint64_t memory_bytes() const {
    return sums.size() * sizeof(ShapeSums) + live_at_peak.size() * sizeof(std::uint32_t) + weights_q_.capacity() * 8;
  }

 private:
  ShapeSums sums_of(const trace::Shape& shape) const;

  const trace::ProcessInfo& info_;
  bool sampled_;
  std::vector<std::uint64_t> weights_q_;                      // filled only where sampled
  std::unordered_map<std::uint64_t, std::uint64_t> carries_;  // shape * kAgeClasses + class -> lost carries
};

}  // namespace tare::core
