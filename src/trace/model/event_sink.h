// Where decoded events go: replay implements it, launcher and readers feed it.
#pragma once

#include <span>

#include "trace/model/event.h"

namespace tare::trace {

// Events arrive in the order they happened: by stamp across threads, in program order within a thread. Ids in them are
// already in the Dictionary that the sink was made with; that Dictionary only grows. ReallocEnd and ReallocStart of one
// call may be separated by events of other threads. The fields of one event:
//   Alloc, ReallocStart  address, shape
//   Free, ReallocEnd     address; shape is kNoShape, or the StackId where free stacks are recorded
//   Map, Unmap           address, shape (is_map; requested_bytes is the length). mremap gives Unmap then Map, each with
//   its stamp;
//                        brk gives Map or Unmap of the difference
//   ThreadStart          address = kernel's tid
//   Fork, Dropped, Mark  address = child's pid, number of events lost, the mark
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void consume(std::span<const Event> events) = 0;
};

}  // namespace tare::trace
