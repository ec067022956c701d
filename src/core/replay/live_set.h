// The blocks that were live at one instant, on their own: what a forked child inherits. Taken by replaying the parent.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/dictionary.h"
#include "trace/event_sink.h"
#include "trace/process_info.h"

namespace tare::core {

// Self-contained: ids refer to its own dictionary, not to that of the trace it was taken from.
struct LiveSet {
  struct Block {
    std::uint64_t address;
    trace::ShapeId shape;
  };
  trace::Dictionary dictionary;
  std::vector<Block> blocks;
};

// Feed it the parent's events. The set is that of the instant of the fork: the first `parent_thread_events` events of
// the forking thread, and of every other thread what is stamped before the fork.
class LiveSetAtFork : public trace::EventSink {
 public:
  // `inherited` (may be null): what the parent itself had from its own parent.
  LiveSetAtFork(const trace::Dictionary& dictionary, const trace::ForkOrigin& fork, const LiveSet* inherited = nullptr);
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
