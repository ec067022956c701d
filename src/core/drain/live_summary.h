// The summary of one image, made while it is recorded: none, or from its first event on, or from the file afterwards.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/columns/fresh_tables.h"
#include "core/drain/early_events.h"
#include "core/drain/fused_replay.h"
#include "core/drain/recording_outcome.h"
#include "trace/model/dictionary.h"
#include "trace/model/event.h"
#include "trace/model/process_info.h"

namespace tare::core {

enum class Importance : std::uint8_t { Command, Other };  // the process that the user started, or one of its helpers

class LiveSummary {
 public:
  enum class Threads : std::uint8_t { Unknown, Expected };  // more than one

  // `knows_earlier`: all blocks that are older than the first event. A forked child's summary begins with its parent's
  // blocks, which are only known when the parent's trace is. Without them its replay serves snapshots only.
  LiveSummary(Summarize summarize, bool knows_earlier)
      : state_(summarize == Summarize::WhileRecording && knows_earlier ? State::Wanted : State::None),
        knows_earlier_(knows_earlier) {}

  bool is_wanted() const { return state_ == State::Wanted; }
  bool is_stored() const { return state_ == State::Stored; }
  bool knows_earlier() const { return knows_earlier_; }
  // The tables can be had while events come: all blocks are known, and the order of all events.
  bool is_exact() const { return replay_ && knows_earlier_ && replay_->merge().sound(); }
  FusedReplay* replay() { return replay_.get(); }  // null: events aren't replayed
  const FusedReplay* replay() const { return replay_.get(); }

  // Begins to replay. Both must outlive the replay.
  void begin_replay(const trace::Dictionary& dictionary, const trace::ProcessInfo& info, Threads threads);
  // Events are kept until the process turns out to be long enough for a replay. A short process has no summary of its
  // own.
  void wait() { early_.wait(); }
  bool waits() const { return early_.waits(); }
  // Both end the waiting: the events so far are replayed, or the whole file is, later.
  void replay_early(const trace::Dictionary& dictionary, const trace::ProcessInfo& info, Threads threads);
  void leave_to_file();
  void add(std::uint32_t thread, std::span<const trace::Event> events);
  void set_knows_earlier() { knows_earlier_ = true; }
  void stop_replay() { replay_.reset(); }
  void forget_early() { early_.clear(); }

  struct FinishedImage {
    std::string path;  // of the trace
    bool has_file;     // and all of its events are in it
    std::span<const trace::ClockPair> clock_pairs;
    std::uint64_t calls;
    Importance importance;
  };
  // Stores the summary in the cache of the trace, if it pays and the merge during the recording was sound.
  void store(const FinishedImage& image, LaunchOutcome& outcome);
  // After that, when no program runs any more: replays the trace for its summary, where it wasn't. That takes a second
  // per 10 million events, in which others' spools would fill up.
  void store_from_file(const std::string& path, FreshTables& fresh);

 private:
  enum class State : std::uint8_t { None, Wanted, FromFile, Stored };

  State state_;
  bool knows_earlier_;
  std::unique_ptr<FusedReplay> replay_;
  EarlyEvents early_;
};

}  // namespace tare::core
