// Merges the events of a running program's threads in the order of their stamps, as far as that order is certain. So
// they can be replayed while they are recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/base/merge_heap.h"
#include "trace/model/event_sink.h"
#include "trace/spool/spool_layout.h"

namespace tare::core {

// Each thread has a watermark: no event of it with a smaller stamp will come. Events before all watermarks, and before
// any possible stamp of a new thread, are passed on. A single thread needs none of that: its events go straight
// through.
class OnlineMerge {
 public:
  // More pending events than this (100 MB) mean that a thread is stuck in an allocation: the merge stops.
  static constexpr std::size_t kMostPending = 4 << 20;
  // Threads are numbered from 0 by the recorder; an id beyond this is damage.
  static constexpr std::uint32_t kMostThreads = trace::kMaxThreads;

  explicit OnlineMerge(trace::EventSink& sink) : sink_(&sink) {}

  // A second thread has been announced, perhaps without an event yet: from now on events wait for watermarks.
  void expect_threads() { threads_ = true; }
  // Events of one thread, in its order. The first call also sets the watermark to 0. After kEnded,
  // events belong to another thread, which reuses the number.
  void append(std::uint32_t thread, std::span<const trace::Event> events);
  // Only ever raises it. kEnded: nothing more will come.
  void set_watermark(std::uint32_t thread, std::uint64_t stamp);
  static constexpr std::uint64_t kEnded = ~std::uint64_t{0};

  // Nothing stamped so late, or later, is handed out.
  void set_ceiling(std::uint64_t stamp) { ceiling_ = stamp; }

  // Passes on the events whose order is certain. `newcomers`: no thread that isn't known yet will have an event with a
  // smaller stamp.
  void advance(std::uint64_t newcomers);
  // Nothing more will come from any thread.
  void finish();

  // Events that came after later ones had been handed out. Events that arrived after later ones had been passed on.
  // From the first such event on, and after the merge has stopped, the sink gets nothing more, and its contents are
  // invalid.
  std::uint64_t late_events() const { return late_events_; }
  bool gave_up() const { return gave_up_; }
  bool sound() const { return late_events_ == 0 && !gave_up_; }

 private:
  struct Stream {
    std::uint32_t thread = 0;
    std::uint64_t watermark = 0;
    std::vector<trace::Event> events;
    std::size_t at = 0;
  };
  static constexpr std::uint32_t kNone = ~0u;

  Stream& stream_of(std::uint32_t thread);
  void hand_out(std::uint64_t limit);
  void flush();

  trace::EventSink* sink_;
  std::vector<std::uint32_t> position_;  // of a thread in streams_, or kNone
  std::vector<Stream> streams_;          // of threads that aren't over
  bool threads_ = false;
  std::vector<trace::Event> batch_;
  trace::MergeHeap heap_;
  trace::MergeKey floor_{0, 0};  // keys below have been handed out
  std::uint64_t ceiling_ = kEnded;
  std::size_t pending_ = 0;
  std::uint64_t late_events_ = 0;
  bool gave_up_ = false;
};

}  // namespace tare::core
