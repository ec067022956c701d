// Table `twins`: blocks of two stacks that are born together and die together, made on demand by a pass over the trace.
//
// Two blocks are twins where their thread allocated one right after the other (blocks that came and went in between
// don't count) and a thread freed both within five frees, or neither was ever freed. A block is the twin of one block
// of a stack at most, so that in A B A B the first B isn't also paired with the second A.
// Source of the idea: the string object beside its characters (seed 000) and the tree of three mallocs for one int
// (seed 003).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/analysis/live_set.h"
#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"
#include "trace/model/process_info.h"

namespace tare::core {

// Not for samples, in which the allocations between two recorded ones are unknown. Memory: 40 bytes a live block, 48 a
// pair of shapes that occurs.
class Twins : public trace::EventSink {
 public:
  // The dictionary must be complete. `inherited` may be null.
  Twins(const trace::Dictionary& dictionary, const trace::ProcessInfo& info, const LiveSet* inherited = nullptr);
  ~Twins() override;

  void consume(std::span<const trace::Event> events) override;

  // Once, after the last event: a row for each pair of shapes whose stacks are paired in at least half of the blocks of
  // either. first_size_id, first_stack_id (allocated first), second_size_id, second_stack_id, pairs, end_pairs (never
  // freed).
  Table finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::core
