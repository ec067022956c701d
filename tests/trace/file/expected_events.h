// Compares what a sink got with what a scripted spool says, event by event.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "support/spool_script.h"
#include "trace/model/dictionary.h"
#include "trace/model/event_sink.h"

namespace tare::test {

class CollectingSink : public trace::EventSink {
 public:
  void consume(std::span<const trace::Event> events) override { all.insert(all.end(), events.begin(), events.end()); }
  std::vector<trace::Event> all;
};

inline std::vector<std::uint64_t> return_addresses(const trace::Dictionary& dictionary, trace::StackId stack) {
  std::vector<std::uint64_t> addresses;
  for (; stack != trace::kEmptyStack; stack = dictionary.stacks[trace::index(stack)].caller) {
    addresses.push_back(trace::row_address(dictionary.rows[trace::index(dictionary.stacks[trace::index(stack)].row)]));
  }
  return addresses;
}

inline void expect_same(const std::vector<ExpectedCall>& calls, const std::vector<trace::Event>& events,
                        const trace::Dictionary& dictionary) {
  using trace::EventKind;
  using trace::Op;
  std::size_t at = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE("call " + std::to_string(i));
    const ExpectedCall& call = calls[i];
    ASSERT_LT(at, events.size());
    if (call.op == Op::Realloc) {
      ASSERT_EQ(events[at].kind, EventKind::ReallocEnd);
      ASSERT_EQ(events[at].address, call.old_address);
      ASSERT_EQ(events[at].stamp, call.stamp);
      ++at;
      ASSERT_LT(at, events.size());
    }
    const trace::Event& event = events[at++];
    ASSERT_EQ(event.address, call.address);
    ASSERT_EQ(event.thread, call.thread);
    ASSERT_EQ(event.stamp, call.op == Op::Realloc ? call.stamp + 20 : call.stamp);
    if (call.op == Op::Free) {
      ASSERT_EQ(event.kind, EventKind::Free);
      continue;
    }
    const EventKind kind = call.op == Op::Alloc     ? EventKind::Alloc
                           : call.op == Op::Realloc ? EventKind::ReallocStart
                                                    : EventKind::Map;
    ASSERT_EQ(event.kind, kind);
    const trace::Shape& shape = dictionary.shapes.at(trace::index(event.shape));
    ASSERT_EQ(shape.requested_bytes, call.requested_bytes);
    ASSERT_EQ(shape.usable_bytes, call.usable_bytes);
    ASSERT_EQ(return_addresses(dictionary, shape.stack), call.addresses);
  }
  ASSERT_EQ(at, events.size());
}

}  // namespace tare::test
