// What the allocator took for the calls that were timed, by stack: table `call_costs`.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/replay/tables.h"
#include "trace/ids.h"

namespace tare::core {

class CallCosts {
 public:
  void add(trace::StackId stack, std::uint64_t ticks);
  // Columns: stack_id, calls, ns (of all of them), most_ns (of one).
  Table table(double ns_per_tick) const;

 private:
  struct Sum {
    std::uint64_t calls = 0;
    std::uint64_t ticks = 0;
    std::uint64_t most_ticks = 0;
  };
  std::unordered_map<std::uint32_t, Sum> by_stack_;
};

}  // namespace tare::core
