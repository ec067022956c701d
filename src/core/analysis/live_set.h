// The blocks that were live at one instant, with their dictionary: a forked child inherits such a set. Taken by
// replaying the parent.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/base/large_vector.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/live_set.h"
#include "trace/model/process_info.h"

namespace tare::core {

using trace::LiveSet;

// Puts a set together from blocks of two dictionaries: a trace's own, and that of the set which the trace began with.
class LiveSetBuilder {
 public:
  enum class From : std::uint8_t { Own, Earlier };
  // Both must outlive it.
  LiveSetBuilder(const trace::Dictionary& own, const trace::Dictionary& earlier) : own_(own), earlier_(earlier) {}

  void add(std::uint64_t address, std::uint32_t shape, From from);
  // Blocks are in order of their addresses. The dictionaries contain only the entries that these blocks need.
  LiveSet take();

 private:
  struct Used {
    std::vector<std::uint32_t> place_of;  // by shape; 0: not used yet
    trace::LargeVector<trace::Shape> shapes;
  };
  struct Block {
    std::uint64_t address;
    std::uint32_t place;  // in the shapes that are used
    From from;
  };
  const trace::Dictionary& own_;
  const trace::Dictionary& earlier_;
  Used used_[2];
  std::vector<Block> blocks_;
};

// Feed it the parent's events, or those of the segment that has the fork. The set is that of the instant of the fork:
// the first `parent_thread_events` events of the forking thread, and the events of all other threads that are stamped
// before the fork.
class LiveSetAtFork : public trace::EventSink {
 public:
  // `inherited` (may be null): the blocks that the parent inherited, or with which its segment began. The forking
  // thread made so many events before the first.
  LiveSetAtFork(const trace::Dictionary& dictionary, const trace::ForkOrigin& fork, const LiveSet* inherited = nullptr,
                std::uint64_t earlier_thread_events = 0);
  ~LiveSetAtFork() override;

  void consume(std::span<const trace::Event> events) override;
  // True: the instant has been passed, further events change nothing.
  bool taken() const;
  // Everything live at the instant; if the parent's trace ended before it, at its end.
  LiveSet take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
