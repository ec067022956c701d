// See live_summary.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/drain/live_summary.h"

namespace tare::core {

using namespace trace;

namespace {

constexpr std::uint64_t kWorthCaching =
    50'000;  // calls; fewer are replayed in 5 ms, and scripts run programs by the hundred

}  // namespace

// A single thread's events would go through up to the last: not so where others may come, or where a segment ends
// before.
void LiveSummary::begin_replay(const Dictionary& dictionary, const ProcessInfo& info, Threads threads) {
  replay_ = std::make_unique<FusedReplay>(dictionary, info);
  if (threads == Threads::Expected) replay_->merge().expect_threads();
}

void LiveSummary::replay_early(const Dictionary& dictionary, const ProcessInfo& info, Threads threads) {
  if (!early_.stop_waiting()) return;
  begin_replay(dictionary, info, threads);
  early_.append_to(replay_->merge());
  early_.clear();
}

void LiveSummary::leave_to_file() {
  if (early_.stop_waiting() && state_ == State::Wanted) state_ = State::FromFile;
  early_.clear();
}

void LiveSummary::add(std::uint32_t thread, std::span<const Event> events) {
  if (replay_) {
    replay_->merge().append(thread, events);
  } else if (early_.waits()) {
    early_.add(thread, events);
  }
}

void LiveSummary::store(const FinishedImage& image, LaunchOutcome& outcome) {
  const bool is_long = image.calls >= kWorthCaching;
  if (state_ == State::FromFile && !(knows_earlier_ && image.has_file && is_long)) state_ = State::None;
  const bool pays = image.has_file && (is_long || image.importance == Importance::Command);
  if (replay_ && knows_earlier_ && pays) {
    outcome.late_events += replay_->merge().late_events();
    if (replay_->merge().sound()) {
      const Status stored = replay_->store(image.path, image.clock_pairs, outcome.fresh_tables);
      state_ = stored ? State::Stored : State::None;
    } else {
      ++outcome.recomputed_summaries;
      state_ = State::FromFile;
    }
  }
  replay_.reset();
}

void LiveSummary::store_from_file(const std::string& path, FreshTables& fresh) {
  if (state_ != State::FromFile) return;
  state_ = replay_file_into_cache(path, fresh) ? State::Stored : State::None;
}

}  // namespace tare::core
