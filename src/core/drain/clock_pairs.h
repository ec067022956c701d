// Pairs of a stamp and the clock that a recording keeps: fewer per second the longer it runs.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/base/clock_ns.h"
#include "trace/model/process_info.h"

namespace tare::core {

// The gap between pairs doubles after each kPairsPerGap: it stays below a thousandth of the recording's length, and a
// year has 40,000 pairs. Pairs once taken stay, so that a report from the trace has the times of the report made while
// recording.
class ClockPairs {
 public:
  static constexpr std::uint64_t kFirstGapNs = 10'000'000;
  static constexpr std::size_t kPairsPerGap = 2048;

  void begin(const trace::ClockPair& pair) {
    pairs_.assign(1, pair);
    written_ = 0;
    gap_ns_ = kFirstGapNs;
    until_double_ = kPairsPerGap;
  }

  // A pair that came along: taken if it is far enough from the last one.
  void offer(const trace::ClockPair& pair) {
    const trace::ClockPair& last = pairs_.back();
    if (pair.stamp <= last.stamp || pair.monotonic_ns < last.monotonic_ns + gap_ns_) return;
    pairs_.push_back(pair);
    if (--until_double_ > 0) return;
    gap_ns_ *= 2;
    until_double_ = kPairsPerGap;
  }

  // A pair that is needed wherever it lies: a moment's, or the end.
  void add(const trace::ClockPair& pair) { pairs_.push_back(pair); }

  std::span<const trace::ClockPair> all() const { return pairs_; }
  // Those that this gave before aren't among them, nor such as are stamped `before` or later.
  std::span<const trace::ClockPair> take_unwritten(std::uint64_t before = ~std::uint64_t{0}) {
    std::size_t end = written_;
    while (end < pairs_.size() && pairs_[end].stamp < before) ++end;
    const std::span<const trace::ClockPair> unwritten = all().subspan(written_, end - written_);
    written_ = end;
    return unwritten;
  }
  // A recording's next segment begins at that pair: earlier ones stay behind.
  void begin_segment(const trace::ClockPair& pair) {
    const std::vector<trace::ClockPair> before = std::move(pairs_);
    begin(pair);
    for (const trace::ClockPair& later : before) offer(later);
  }

 private:
  std::vector<trace::ClockPair> pairs_;
  std::size_t written_ = 0;
  std::uint64_t gap_ns_ = kFirstGapNs;
  std::size_t until_double_ = kPairsPerGap;
};

}  // namespace tare::core
