// The contents of a watch file: sampled live blocks of the process, and sums by stack.
//
// Called only for sampled events, at the end of their hook. The table of live samples is memory of the process's own,
// and the file is a copy of it: a forked child begins with its parent's samples of the moment of the fork, and bytes
// that others change in the file can't harm the process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/base/bounded_lock.h"
#include "recorder/limits/budget.h"
#include "recorder/limits/own_use.h"
#include "recorder/spool/spool.h"
#include "recorder/watch/sample_index.h"
#include "recorder/watch/stack_tree.h"
#include "trace/watch/watch_layout.h"

namespace tare::recorder {

class Watch {
 public:
  // With a file that was just made. `parent`: in a forked child the file of its parent, else null. False: no memory, or
  // no room in the file.
  bool begin(Spool& spool, Spool* parent);
  // The limits of this file and of the files of forked children. Before begin().
  void set_budget(const Budget& budget) { budget_ = budget; }
  // Before begin() in a forked child: threads of the parent may have held the lock.
  void become_child() { lock_.reset(); }

  // Events that a thread has written, as in a chunk. Signals are blocked. False: nothing can be kept any more.
  bool apply(const std::uint64_t* words, const std::uint64_t* last, std::uint32_t thread);
  // Later events are another recording's. Of a watch that rests, too.
  void stop(trace::WatchStop reason);
  // Until resume(), apply() does nothing; the two calls below note births and ends. resting.cc.
  void rest() { stop(trace::WatchStop::Resting); }
  // False: it was stopped meanwhile.
  bool resume();
  // The event of a sampled block, without a stack. Signals are blocked.
  void apply_resting(const std::uint64_t* event);
  // `before`: a sample that is younger than this stamp is another block at the same address.
  void end_resting(std::uint64_t address, std::uint64_t before);
  trace::WatchStop stopped() const { return static_cast<trace::WatchStop>(totals_.stop); }

 private:
  // The clocks and the file are looked at once in so many turns of the lock, memory once in so many of these.
  static constexpr std::uint32_t kTurnsOfLook = 32;
  static constexpr std::uint32_t kLooksOfMemory = 8;

  struct Memory {
    trace::WatchSample samples[trace::kWatchMaxSamples];
    std::uint16_t free_slots[trace::kWatchMaxSamples];
    std::uint16_t sum_of[trace::kWatchMaxNodes];  // of a node; 0: none yet, or the first
    SampleIndex index;
  };
  struct BlockEvent;

  // Around each change, with the lock.
  void begin_change();
  void end_change();
  void apply_event(const std::uint64_t* event, std::uint32_t thread, std::uint32_t traits = 0);
  void add(const BlockEvent& event, std::uint32_t thread);
  void end(std::uint64_t address, std::uint64_t before);
  void count_freed(std::uint32_t node, double bytes, double weight);
  trace::WatchSum& sum(std::uint32_t node);
  bool has_slot();
  void widen();
  bool widen_once();
  void thin_all();
  void begin_budget();
  void keep_budget();
  bool keep_room(RoomLimit& limit, std::uint64_t used, trace::WatchStop reason);
  bool widen_for_budget(int times, trace::WatchStop reason);
  std::uint32_t take_slot();
  void publish(std::uint32_t slot);
  void drop(std::uint32_t slot);
  bool inherit();
  void write_totals();
  double luck();

  BoundedLock lock_;
  Memory* memory_ = nullptr;
  StackTree stacks_;
  Spool* spool_ = nullptr;
  trace::WatchState* state_ = nullptr;
  trace::WatchSample* file_samples_ = nullptr;
  trace::WatchSum* file_sums_ = nullptr;
  std::uint32_t free_count_ = 0;
  std::uint32_t applied_ = 0;
  std::uint64_t random_ = 0;
  trace::WatchTotals totals_ = {};
  Budget budget_;
  OwnUse own_use_;
  CpuLimit cpu_limit_;
  RoomLimit memory_limit_;
  RoomLimit disk_limit_;
  std::uint32_t looks_ = 0;
};

extern TARE_HIDDEN Watch watch;

}  // namespace tare::recorder
