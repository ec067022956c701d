// The public face of the replay engine.
#include "core/tables/replay.h"

#include <algorithm>
#include <utility>

#include "core/analysis/replay_engine.h"
#include "core/tables/replay_tables.h"

namespace tare::core {
namespace {

// The last stamp not later than `ns` after the first pair.
std::uint64_t stamp_at(std::span<const trace::ClockPair> pairs, std::uint64_t ns) {
  constexpr std::uint64_t kLatest = ~std::uint64_t{0} >> 1;
  if (pairs.size() < 2) return pairs.empty() || ns > 0 ? kLatest : pairs.front().stamp;
  const std::uint64_t wanted = pairs.front().monotonic_ns + ns;
  std::size_t right = 1;
  while (right + 1 < pairs.size() && pairs[right].monotonic_ns < wanted) ++right;
  const trace::ClockPair& a = pairs[right - 1];
  const trace::ClockPair& b = pairs[right];
  if (b.monotonic_ns <= a.monotonic_ns) return b.stamp;
  const double ticks_per_ns =
      static_cast<double>(b.stamp - a.stamp) / static_cast<double>(b.monotonic_ns - a.monotonic_ns);
  const double stamp = static_cast<double>(a.stamp) + static_cast<double>(wanted - a.monotonic_ns) * ticks_per_ns;
  return stamp < static_cast<double>(kLatest) ? static_cast<std::uint64_t>(stamp) : kLatest;
}

std::optional<std::uint64_t> at_stamp(const ReplayOptions& options) {
  if (!options.at_ns) return std::nullopt;
  return stamp_at(options.clock_pairs, *options.at_ns);
}

}  // namespace

struct Replay::State {
  State(const trace::Dictionary& own_dictionary, const trace::ProcessInfo& own_info, const ReplayOptions& options)
      : dictionary(own_dictionary), info(own_info), engine(own_dictionary, own_info, at_stamp(options)) {
    if (options.by_thread) engine.count_threads();
  }

  const trace::Dictionary& dictionary;
  const trace::ProcessInfo& info;
  ReplayEngine engine;
};

Replay::Replay(const trace::Dictionary& dictionary, const trace::ProcessInfo& info, const ReplayOptions& options)
    : state_(std::make_unique<State>(dictionary, info, options)) {}

Replay::~Replay() = default;

void Replay::inherit(const LiveSet& live) { state_->engine.inherit(live); }

void Replay::consume(std::span<const trace::Event> events) { state_->engine.consume(events); }

std::uint64_t Replay::events() const {
  const LedgerCounts& counts = state_->engine.counts();
  return counts.alloc_events + counts.free_events + counts.realloc_events;
}

std::uint64_t Replay::live_gross_bytes() const { return state_->engine.live_gross_bytes(); }

std::uint64_t Replay::memory_bytes() const { return state_->engine.memory_bytes(); }

std::vector<LiveBlock> Replay::live_blocks() const {
  std::vector<LiveBlock> blocks = state_->engine.live_blocks();
  const auto before = [](const LiveBlock& a, const LiveBlock& b) { return a.address < b.address; };
  // They are, unless some begin between two multiples of 16.
  if (!std::is_sorted(blocks.begin(), blocks.end(), before)) std::sort(blocks.begin(), blocks.end(), before);
  return blocks;
}

LiveSet Replay::live_set() const { return state_->engine.live_set(); }

void Replay::expect_reading() { state_->engine.expect_reading(); }

void Replay::add_exit_contents(std::span<const trace::Observation> blocks) { state_->engine.add_exit_contents(blocks); }

const Mappings& Replay::mappings() const { return state_->engine.mappings(); }

Tables Replay::tables_so_far(std::span<const trace::ClockPair> clock_pairs) {
  return state_->engine.read_on_the_way(
      [&] { return make_tables(state_->engine, state_->dictionary, state_->info, clock_pairs); });
}

Tables Replay::finish(std::span<const trace::ClockPair> clock_pairs) {
  state_->engine.finish();
  return make_tables(state_->engine, state_->dictionary, state_->info, clock_pairs);
}

Status replay_kept(const trace::OpenedTrace& trace, Replay& replay) {
  if (!trace.info().contents_recorded) return ok();
  std::vector<trace::Observation> kept;
  const Status read = trace.read_moments([&](trace::Moment moment) {
    if (moment.kind == trace::MomentKind::Exit) kept = std::move(moment.blocks);
  });
  if (!kept.empty()) replay.add_exit_contents(kept);
  return read;
}

}  // namespace tare::core
