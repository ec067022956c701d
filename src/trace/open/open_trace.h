// Opens a recording in any state: a finished trace, one whose launcher died, or a bare spool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/base/result.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/live_set.h"
#include "trace/model/moment.h"
#include "trace/model/process_info.h"

namespace tare::trace {

// Called now and then with events handed out so far and events in all (estimated where a spool is read).
using ReplayProgress = std::function<void(std::uint64_t done_events, std::uint64_t total_events)>;

class OpenedTrace {
 public:
  OpenedTrace();
  OpenedTrace(OpenedTrace&&) noexcept;
  OpenedTrace& operator=(OpenedTrace&&) noexcept;
  ~OpenedTrace();

  const ProcessInfo& info() const;
  // Complete before replay_into is called. The reference stays valid while the OpenedTrace lives, also when it is
  // moved.
  const Dictionary& dictionary() const;
  // The blocks that were live when this segment of a recording began. Empty for the first, and for a recording that is
  // one file.
  const LiveSet& live_before() const;
  // True: the end record was read, and nothing was cut off or damaged.
  bool complete() const;
  // One line for each missing part, with the reason.
  const std::vector<std::string>& warnings() const;
  // The error that ended the reading of a damaged trace: replay_into returns it after all events before the damage.
  const std::optional<Error>& damage() const;
  // Ascending, at least one unless the trace is empty.
  std::span<const ClockPair> clock_pairs() const;
  // Events that replay_into will hand out; for a spool an upper bound.
  std::uint64_t event_count() const;
  std::uint32_t thread_count() const;

  // Snapshots, in the order of the file. Each call reads it again. At damage it returns Corrupt with the offset, after
  // all earlier snapshots were passed on.
  Status read_moments(const std::function<void(Moment)>& take) const;

  // Hands all events to `sink` in global order. May be called again: each call starts at the beginning. Damage found on
  // the way gives Corrupt with the offset, after everything before it was handed out.
  Status replay_into(EventSink& sink, const ReplayProgress& progress = {}) const;

  struct State;
  explicit OpenedTrace(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

// NotATrace, NewerVersion, Io, or Corrupt where nothing at all can be read.
Result<OpenedTrace> open_trace(const std::string& path);

// Stamps to nanoseconds since the first pair, piecewise linear; before the first and after the last pair the nearest
// slope.
class Clock {
 public:
  explicit Clock(std::span<const ClockPair> pairs);
  std::uint64_t ns(std::uint64_t stamp) const;

 private:
  std::vector<ClockPair> pairs_;
  mutable std::size_t last_ = 0;  // replay calls in ascending order
};

}  // namespace tare::trace
