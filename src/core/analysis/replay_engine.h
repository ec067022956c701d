// The inner loop of replay: sums by shape, the exact peak, growth chains and the timeline, in a few adds an event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/analysis/call_costs.h"
#include "core/analysis/chain_rows.h"
#include "core/analysis/content_sums.h"
#include "core/analysis/ledger.h"
#include "core/analysis/live_block.h"
#include "core/analysis/live_set.h"
#include "core/analysis/live_sums.h"
#include "core/analysis/peak_contents.h"
#include "core/analysis/pool_books.h"
#include "core/analysis/shape_sums.h"
#include "core/analysis/timeline.h"
#include "core/mappings/mappings.h"
#include "core/mappings/resident_use.h"
#include "trace/base/large_vector.h"
#include "trace/model/dictionary.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"

namespace tare::core {

class ReplayEngine {
 public:
  ReplayEngine(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
               std::optional<std::uint64_t> at_stamp);

  void inherit(const LiveSet& live);
  void consume(std::span<const trace::Event> events);
  void finish();  // once, before the results are read
  // The same on the way: `read` finds all results as they were had this been the last event.
  template <typename Read>
  auto read_on_the_way(const Read& read) {
    std::optional<PoolBooks::State> pools;
    if (pools_) pools = pools_->state();
    const PeakSearch peak = peak_;
    finish();
    auto result = read();
    // Of instants with equal gross, the last one before a fall is the peak, so the search starts again. All other
    // effects of finish() may be repeated.
    peak_.continue_from(peak);
    if (pools) pools_->restore(*std::move(pools));
    return result;
  }
  std::uint64_t memory_bytes() const;
  std::uint64_t live_gross_bytes() const { return live_.gross_q >> kFractionBits; }
  std::vector<LiveBlock> live_blocks() const;  // in no order
  // The process's info has got a new reading of its memory, later than all events so far.
  void expect_reading();
  LiveSet live_set() const;

  // Results, per shape of the dictionary, or per shape of the inherited set.
  struct Group {
    trace::LargeVector<ShapeSums> sums;
    trace::LargeVector<std::uint32_t> live_at_peak;
    std::vector<std::uint32_t> live_at;  // at `at_stamp`
  };
  const Group& recorded() const { return recorded_; }
  const Group& inherited() const { return inherited_.group; }
  const trace::Dictionary& inherited_dictionary() const { return inherited_.dictionary; }
  std::uint64_t ended(std::uint32_t shape, std::size_t age) const;  // without the carries a 32-bit count loses
  const ChainRows& chains() const { return chains_; }
  const Timeline& timeline() const { return timeline_; }
  const Mappings& mappings() const { return mappings_; }
  const PoolBooks* pools() const { return pools_.get(); }  // null: the program told of none
  const ContentSums& contents() const { return contents_; }
  const PeakContents& peak_contents() const { return peak_contents_; }
  // Blocks that were looked at when the program exited. Those that are still live count as ended then, once, before
  // finish().
  void add_exit_contents(std::span<const trace::Observation> blocks);
  bool has_exit_contents() const { return has_exit_contents_; }
  const CallCosts& call_costs() const { return call_costs_; }
  std::uint32_t peak_epoch() const { return peak_.epoch; }
  const LedgerCounts& counts() const { return ledger_.counts(); }
  // At the reading that the process's info has; none: it has none.
  struct AtReading {
    ResidentUse use;
    std::uint64_t gross_bytes = 0;  // of live blocks
  };
  const std::optional<AtReading>& at_reading() const { return at_reading_; }
  std::uint64_t map_events() const { return map_events_; }
  std::uint64_t threads() const { return ledger_.threads(); }
  bool has_requested_time() const { return has_requested_time_; }
  const std::vector<std::uint32_t>& inherited_blocks() const { return inherited_.blocks; }  // by inherited shape
  std::uint64_t first_stamp() const { return origin_; }
  std::uint64_t last_stamp() const { return last_stamp_; }
  std::uint64_t peak_stamp() const { return peak_.stamp; }

  // Ledger's view of the books; see there.
  struct Dead {
    std::uint32_t shape;  // index into `group`'s sums
    std::uint32_t birth;
    bool inherited;
    bool in_chain;
    trace::StackId stack;
    ChainState chain;  // if in_chain
  };
  void foresee(const trace::Event& event) {
    // In notes this field has another meaning, and in most ends it is kNoShape.
    const std::size_t shape = trace::index(event.shape);
    __builtin_prefetch(recorded_.sums.data() + (shape < recorded_.sums.size() ? shape : 0), 1);
  }
  void foresee_end(std::uint64_t word) {
    const auto low = static_cast<std::uint32_t>(word);
    if ((low & ~kIndexMask) == kPlain) __builtin_prefetch(recorded_.sums.data() + (low & kIndexMask), 1);
  }
  void tick(std::uint64_t stamp) {
    if (stamp >= next_stop_) [[unlikely]]
      stop(stamp);
    last_stamp_ = stamp;
  }
  bool admit(trace::ShapeId shape) { return trace::index(shape) < recorded_.sums.size() || prepare_shapes(shape); }
  std::uint64_t born(const trace::Event& event);
  Dead died(std::uint64_t word, const trace::Event& event);
  void continued(const Dead& dead, std::uint64_t& word, GrowthKind kind, Move move);
  void end_contents(const Dead& dead, const HeldBytes& held);
  void call_cost(const trace::Event& event, trace::StackId freed);
  void other(const trace::Event& event);
  trace::StackId stack(trace::ShapeId shape) const { return recorded_.sums[trace::index(shape)].stack; }
  trace::StackId stack(const Dead& dead) const { return dead.stack; }
  std::uint64_t requested_bytes(trace::ShapeId shape) const {
    return dictionary_.shapes[trace::index(shape)].requested_bytes;
  }
  std::uint64_t requested_bytes(const Dead& dead) const {
    return (dead.inherited ? inherited_.dictionary : dictionary_).shapes[dead.shape].requested_bytes;
  }
  std::uint32_t birth(const Dead& dead) const { return dead.birth; }
  std::uint32_t last_birth() const { return births_; }

 private:
  // A block's word: birth in the high half; in the low half, two bits give the meaning of the lowest 30.
  static constexpr std::uint32_t kPlain = 1u << 30;      // ShapeId
  static constexpr std::uint32_t kInChain = 2u << 30;    // index into chain_blocks_
  static constexpr std::uint32_t kInherited = 3u << 30;  // shape of the inherited set
  static constexpr std::uint32_t kIndexMask = kPlain - 1;

  static std::uint64_t word_of(std::uint32_t birth, std::uint32_t low) { return std::uint64_t{birth} << 32 | low; }

  ShapeSums sums_of(const trace::Shape& shape) const;
  bool prepare_shapes(trace::ShapeId wanted);
  std::uint64_t weight_q(const std::vector<std::uint64_t>& weights, std::uint32_t shape) const {
    return sampled_ ? weights[shape] : 1u << kFractionBits;
  }
  double weight(std::uint32_t shape) const { return static_cast<double>(weight_q(weights_q_, shape)) / kFraction; }
  double weight(const Dead& dead) const {
    const auto& weights = dead.inherited ? inherited_.weights_q : weights_q_;
    return static_cast<double>(weight_q(weights, dead.shape)) / kFraction;
  }
  void save_if_older(Group& group, std::uint32_t shape) {
    ShapeSums& sums = group.sums[shape];
    if (sums.epoch != peak_.epoch) {
      group.live_at_peak[shape] = sums.live;
      sums.epoch = peak_.epoch;
    }
  }
  void before_fall() {
    if (live_.gross_q > peak_.bucket_max_q) {
      peak_.bucket_max_q = live_.gross_q;
      if (live_.gross_q > peak_.gross_q) peak_.rise(live_.gross_q, births_);
    }
  }
  void stop(std::uint64_t stamp);
  void close_bucket();
  void take_reading();
  void set_next_stop(std::uint64_t stamp);
  Dead died_specially(std::uint64_t word);
  void count_peak_contents(const trace::Observation& block, std::uint32_t shape, std::uint64_t written);
  void pass_to_pools(const trace::Event& event);
  std::optional<HeapBlock> heap_block_around(std::uint64_t address);
  PoolBooks::Now pools_now(std::uint64_t stamp) const { return {(stamp - origin_) >> kAgeShift, peak_.epoch, births_}; }
  void apply(const PoolBooks::Change& change);

  const trace::Dictionary& dictionary_;
  const trace::ProcessInfo& info_;
  bool sampled_;
  bool has_requested_time_;
  bool started_ = false;

  Group recorded_;
  LiveSums live_;
  PeakSearch peak_;
  std::uint32_t births_ = 0;
  bool counted_ = false;  // births_ is the recorder's count, not the sum of weights
  std::uint64_t next_stop_ = 0;
  std::uint64_t last_stamp_ = 0;
  std::uint64_t origin_ = 0;
  std::optional<std::uint64_t> at_stamp_;  // emptied when passed

  std::optional<std::uint64_t> reading_stamp_;  // emptied when passed
  std::optional<AtReading> at_reading_;

  std::vector<std::uint64_t> weights_q_;                      // by shape, filled only where sampled
  std::unordered_map<std::uint64_t, std::uint64_t> carries_;  // shape * kAgeClasses + class -> lost carries
  bool has_earlier_ = false;                                  // inherit() was called
  struct Inherited {                                          // blocks that existed before the first event
    Group group;
    std::vector<std::uint32_t> blocks;  // by shape
    std::vector<std::uint64_t> weights_q;
    trace::Dictionary dictionary;
  };
  Inherited inherited_;
  ChainBlocks chain_blocks_;
  ChainRows chains_;
  Timeline timeline_;
  Mappings mappings_;
  ContentSums contents_;
  PeakContents peak_contents_;
  bool has_exit_contents_ = false;
  CallCosts call_costs_;
  std::uint64_t map_events_ = 0;
  std::unique_ptr<PoolBooks> pools_;
  Ledger<ReplayEngine> ledger_;
};

}  // namespace tare::core
