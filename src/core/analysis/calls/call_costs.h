// Time that the allocator took for the timed calls, by stack: table `call_costs`.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/analysis/tick_histogram.h"
#include "core/columns/tables.h"
#include "trace/model/ids.h"

namespace tare::core {

class CallCosts {
 public:
  // The cost of an allocation, or of the free of a block allocated there; both belong to the row of `stack`.
  void add_allocation(trace::StackId stack, std::uint64_t ticks) {
    by_stack_[trace::index(stack)].allocations.add(ticks);
  }
  void add_free(trace::StackId stack, std::uint64_t ticks) { by_stack_[trace::index(stack)].frees.add(ticks); }
  // Columns: stack_id, then of allocations calls, ns (of all of them), max_ns (of one), winsorized_ns; the same of
  // frees: free_calls, free_ns, max_free_ns, winsorized_free_ns.
  Table table(double ns_per_tick) const;

 private:
  struct Sum {
    std::uint64_t calls = 0;
    std::uint64_t ticks = 0;
    std::uint64_t max_ticks = 0;
    TickHistogram histogram;

    void add(std::uint64_t more_ticks);
  };
  struct Costs {
    Sum allocations;
    Sum frees;
  };
  // A longer call of a stack with few timed calls counts as so long.
  double cap_of_few(Sum Costs::* kind) const;

  std::unordered_map<std::uint32_t, Costs> by_stack_;
};

}  // namespace tare::core
