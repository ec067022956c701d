// Replays a process's events into the small tables: exact peak, sizes by site, growth chains, timeline. One pass.
//
//   Replay replay(opened.dictionary(), opened.info(), {});
//   opened.replay_into(replay);
//   Tables tables = replay.finish(opened.clock_pairs());
//
// Memory: 8 bytes a live block and 16 bytes of address space it covers (dense heaps: half the heap's size at most,
// sparse pages 64 bytes each), plus 64 bytes a shape. Nothing grows with the number of events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/analysis/live_block.h"
#include "core/analysis/live_set.h"
#include "core/columns/tables.h"
#include "core/mappings/mappings.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"
#include "trace/open/open_trace.h"

namespace tare::core {

struct ReplayOptions {
  // `at_blocks` of site_sizes and `at_*` of process: the state after the last event that isn't later than this number
  // of nanoseconds since the start. Needs `clock_pairs` now, because stamps are compared while replaying.
  std::optional<std::uint64_t> at_ns;
  std::span<const trace::ClockPair> clock_pairs;
  // Makes table thread_sizes. The dictionary must be complete now.
  bool by_thread = false;
};

// Makes tables process, site_sizes, chains, timeline, written, recreated, call_costs, failed_requests, stacks, rows,
// modules. In site_sizes every count and sum is of recorded blocks: multiply by `weight`. In process, chains and
// timeline the weights are already in.
class Replay : public trace::EventSink {
 public:
  // Both references must outlive the Replay; the dictionary may grow between calls of consume(), the info may change
  // until finish().
  Replay(const trace::Dictionary& dictionary, const trace::ProcessInfo& info, const ReplayOptions& options = {});
  ~Replay() override;

  // Before the first event: blocks that the parent had at the fork, or that were live when the segment began. They are
  // in the live set, never in totals. Their shapes, stacks, rows and modules are appended to the tables.
  void inherit(const LiveSet& live);

  void consume(std::span<const trace::Event> events) override;

  std::uint64_t events() const;  // successful calls so far: allocations, frees, reallocs
  std::uint64_t live_gross_bytes() const;
  std::uint64_t memory_bytes() const;  // held by the replay itself

  // Between two calls of consume(): live blocks by address, and the program's own mappings.
  std::vector<LiveBlock> live_blocks() const;
  const Mappings& mappings() const;
  // The process's info has got a new reading of its memory, later than all events so far.
  void expect_reading();
  // Before finish(): blocks that the exit's snapshot has. Tables `written` and `peak_contents` have those that are
  // still live as if they had ended then.
  void add_exit_contents(std::span<const trace::Observation> blocks);
  // The same as a set that another replay can begin with. A realloc that has begun and not ended leaves its old block
  // in it: both of its events come later.
  LiveSet live_set() const;

  // Between two calls of consume(): all tables, as if the program had ended here. 0.4 us a shape.
  Tables tables_so_far(std::span<const trace::ClockPair> clock_pairs);

  // Once, after the last event.
  Tables finish(std::span<const trace::ClockPair> clock_pairs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Passes the blocks of the snapshot at the exit, in recordings with contents, to Replay::add_exit_contents().
Status replay_kept(const trace::OpenedTrace& trace, Replay& replay);

}  // namespace tare::core
