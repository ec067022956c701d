// A call of a described function: its arguments by their roles, and the event.
#pragma once

#include "recorder/foreign/entry_patch.h"
#include "recorder/foreign/foreign_call.h"
#include "recorder/foreign/pool_call.h"
#include "trace/spool/allocator_table.h"

namespace tare::recorder {

struct Replaced {
  trace::ForeignFunction facts;
  const char* allocator;  // its name
  ForeignHeap heap;
  PoolAllocator pools;
  void* place;
  AnyFunction6 original;
};

// With `arguments` as they came in registers; returns what the original returned.
long record_described_call(const StartState& here, const Replaced& function, const long* arguments);

}  // namespace tare::recorder
