// The inner loop of replay: sums by shape, the exact peak, growth chains and the timeline, in a few adds an event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/analysis/block_word.h"
#include "core/analysis/calls/call_costs.h"
#include "core/analysis/calls/failed_requests.h"
#include "core/analysis/chain_rows.h"
#include "core/analysis/contents/content_sums.h"
#include "core/analysis/contents/peak_contents.h"
#include "core/analysis/ledger.h"
#include "core/analysis/live_block.h"
#include "core/analysis/live_set.h"
#include "core/analysis/live_sums.h"
#include "core/analysis/pools/pool_books.h"
#include "core/analysis/shape_book.h"
#include "core/analysis/thread_book.h"
#include "core/analysis/timeline.h"
#include "core/mappings/mappings.h"
#include "core/mappings/resident_use.h"
#include "trace/model/dictionary.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"

namespace tare::core {

class ReplayEngine {
 public:
  ReplayEngine(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
               std::optional<std::uint64_t> at_stamp);
  // Before the first event, of a complete dictionary: counts blocks by thread, too.
  void count_threads() { threads_of_shapes_ = std::make_unique<ThreadBook>(dictionary_.shapes.size()); }

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
  const ShapeBook& recorded() const { return recorded_; }
  const ThreadBook* threads_of_shapes() const { return threads_of_shapes_.get(); }  // null: they weren't counted
  const ShapeBook& inherited() const { return inherited_.book; }
  const trace::Dictionary& inherited_dictionary() const { return inherited_.dictionary; }
  std::uint64_t ended(std::uint32_t shape, std::size_t age) const { return recorded_.ended(shape, age); }
  const ChainRows& chains() const { return chains_.rows(); }
  const Timeline& timeline() const { return timeline_; }
  const Mappings& mappings() const { return mappings_; }
  const PoolBooks* pools() const { return pools_.get(); }  // null: the program told of none
  const ContentSums& contents() const { return contents_.sums; }
  const PeakContents& peak_contents() const { return contents_.at_peak; }
  // Blocks that were looked at when the program exited. Those that are still live count as ended then, once, before
  // finish().
  void add_exit_contents(std::span<const trace::Observation> blocks);
  bool has_exit_contents() const { return contents_.has_exit; }
  const CallCosts& call_costs() const { return call_costs_; }
  const FailedRequests& failed_requests() const { return failed_requests_; }
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
  bool has_requested_time() const { return stops_.has_requested_time; }
  const std::vector<std::uint32_t>& inherited_blocks() const { return inherited_.blocks; }  // by inherited shape
  std::uint64_t first_stamp() const { return extent_.origin; }
  std::uint64_t last_stamp() const { return extent_.last_stamp; }
  std::uint64_t peak_stamp() const { return peak_.stamp; }
  std::uint32_t peak_births() const { return peak_.births; }

  // Ledger's view of the books; see there.
  struct Dead {
    std::uint32_t shape;  // of the book that has it
    std::uint32_t birth;
    bool inherited;
    bool in_chain;
    trace::StackId stack;
    ChainState chain;  // if in_chain
  };
  // Inlined early, as BlockMap::prefetch() is: GCC would remove the calls.
  [[gnu::always_inline]] void foresee(const trace::Event& event) {
    // In notes this field has another meaning, and in most ends it is kNoShape.
    const std::size_t shape = trace::index(event.shape);
    __builtin_prefetch(recorded_.sums.data() + (shape < recorded_.sums.size() ? shape : 0), 1);
    if (threads_of_shapes_) threads_of_shapes_->prefetch_shape(shape);
  }
  [[gnu::always_inline]] void foresee_end(std::uint64_t word) {
    const BlockWord block(word);
    if (!block.is_plain()) return;
    __builtin_prefetch(recorded_.sums.data() + block.index(), 1);
    if (threads_of_shapes_) threads_of_shapes_->prefetch_end(block.index());
  }
  void tick(std::uint64_t stamp) {
    if (stamp >= stops_.next) [[unlikely]]
      stop(stamp);
    extent_.last_stamp = stamp;
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
    return dictionary(dead.inherited).shapes[dead.shape].requested_bytes;
  }
  std::uint32_t birth(const Dead& dead) const { return dead.birth; }
  std::uint32_t last_birth() const { return births_.last; }

 private:
  // Stamps at which more is due than a change of sums.
  struct Stops {
    std::uint64_t next = 0;
    std::optional<std::uint64_t> at;       // the requested time; emptied when passed
    std::optional<std::uint64_t> reading;  // of the memory; emptied when passed
    bool has_requested_time = false;
  };
  struct Extent {
    std::uint64_t origin = 0;  // the first stamp
    std::uint64_t last_stamp = 0;
    bool started = false;
  };
  struct Births {
    std::uint32_t last = 0;
    bool counted = false;  // by the recorder; otherwise the sum of weights
  };
  struct Inherited {  // blocks that existed before the first event
    explicit Inherited(const trace::ProcessInfo& info) : book(info) {}
    ShapeBook book;
    std::vector<std::uint32_t> blocks;  // by shape
    trace::Dictionary dictionary;
    bool known = false;  // inherit() was called
  };
  struct Contents {
    ContentSums sums;
    PeakContents at_peak;
    bool has_exit = false;
  };

  bool prepare_shapes(trace::ShapeId wanted);
  ShapeBook& book(bool inherited) { return inherited ? inherited_.book : recorded_; }
  const trace::Dictionary& dictionary(bool inherited) const { return inherited ? inherited_.dictionary : dictionary_; }
  std::uint32_t shape_of(BlockWord block) const {
    const std::uint32_t number = block.kind() == BlockWord::kInChain ? chains_[block.index()].number : block.index();
    return threads_of_shapes_ && !block.is_inherited() ? threads_of_shapes_->shape_of(number) : number;
  }
  bool lived_at_peak(std::uint32_t birth) const { return peak_.births - birth < 1u << 31; }
  void before_fall() {
    if (live_.gross_q > peak_.bucket_max_q) {
      peak_.bucket_max_q = live_.gross_q;
      if (live_.gross_q > peak_.gross_q) peak_.rise(live_.gross_q, births_.last);
    }
  }
  void stop(std::uint64_t stamp);
  void close_bucket();
  void take_reading();
  void set_next_stop(std::uint64_t stamp);
  Dead died_specially(BlockWord block);
  void count_peak_contents(const trace::Observation& block, std::uint32_t shape, std::uint64_t written);
  void pass_to_pools(const trace::Event& event);
  std::optional<HeapBlock> heap_block_around(std::uint64_t address);
  PoolBooks::Now pools_now(std::uint64_t stamp) const {
    return {(stamp - extent_.origin) >> kAgeShift, peak_.epoch, births_.last};
  }
  void apply(const PoolBooks::Change& change);

  const trace::Dictionary& dictionary_;
  const trace::ProcessInfo& info_;
  ShapeBook recorded_;
  Inherited inherited_;
  LiveSums live_;
  PeakSearch peak_;
  Births births_;
  Stops stops_;
  Extent extent_;
  std::optional<AtReading> at_reading_;
  GrowthChains chains_;
  Timeline timeline_;
  Mappings mappings_;
  std::uint64_t map_events_ = 0;
  Contents contents_;
  CallCosts call_costs_;
  FailedRequests failed_requests_;
  std::unique_ptr<PoolBooks> pools_;
  std::unique_ptr<ThreadBook> threads_of_shapes_;
  Ledger<ReplayEngine> ledger_;
};

}  // namespace tare::core
