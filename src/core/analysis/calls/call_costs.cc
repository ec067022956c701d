// Summing timed calls: see call_costs.h.
#include "core/analysis/calls/call_costs.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tare::core {
namespace {

constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 44;  // an hour; a damaged trace may claim more

// A call is timed when a chunk opens or a stamp is due, so 5 to 10 % of the timed calls run with cold caches behind the
// recorder's own work. On a machine with four runnable threads a processor, the slowest half was disturbed: of 2,000
// mallocs of one stack that took 8 ns each, the median was timed with 74 to 98 ticks (30 to 40 ns, 20 of them for the
// clock), the upper quartile with 98 to 245, the slowest twentieth with 565 to 2,796. Waits for locks aren't CPU time,
// so their loss is right.
constexpr double kUsualShare = 0.5;
// With fewer calls, a median is another one each time, and the median of all stacks' calls is the limit. While it was
// their 99th percentile, page faults priced whole sites: of byacc, three of 11 calls at 11 stacks took 2 to 26 us, and
// 14,876 blocks were priced at 4.5 ms. `tare prove` measured 0.7 ms. First writes to pages have a price of their own.
constexpr std::uint64_t kFewCalls = 8;

}  // namespace

void CallCosts::Sum::add(std::uint64_t more_ticks) {
  more_ticks = std::min(more_ticks, kMostTicks);
  ++calls;
  ticks += more_ticks;
  max_ticks = std::max(max_ticks, more_ticks);
  histogram.add(more_ticks);
}

double CallCosts::cap_of_few(Sum Costs::* kind) const {
  TickHistogram all;
  for (const auto& [stack, costs] : by_stack_) all.add_all((costs.*kind).histogram);
  return all.quantile(kUsualShare);
}

Table CallCosts::table(double ns_per_tick) const {
  TableBuilder table("call_costs");
  struct Columns {
    TableBuilder::ColumnId calls, ns, max_ns, winsorized_ns;
  };
  const auto columns = [&](const std::string& of) {
    return Columns{table.column(of + "calls"), table.column(of + "ns"), table.column("max_" + of + "ns"),
                   table.column("winsorized_" + of + "ns")};
  };
  const auto stack_id = table.column("stack_id");
  const Columns allocations = columns("");
  const Columns frees = columns("free_");
  const auto add = [&](const Columns& to, const Sum& sum, double cap_of_few) {
    const double cap = sum.calls < kFewCalls ? cap_of_few : sum.histogram.quantile(kUsualShare);
    table.add(to.calls, to_column(sum.calls));
    table.add(to.ns, static_cast<double>(sum.ticks) * ns_per_tick);
    table.add(to.max_ns, static_cast<double>(sum.max_ticks) * ns_per_tick);
    table.add(to.winsorized_ns, sum.histogram.sum_capped_at(cap) * ns_per_tick);
  };
  std::vector<std::uint32_t> stacks;
  for (const auto& [stack, costs] : by_stack_) stacks.push_back(stack);
  std::sort(stacks.begin(), stacks.end());
  const double allocation_cap = cap_of_few(&Costs::allocations), free_cap = cap_of_few(&Costs::frees);
  for (const std::uint32_t stack : stacks) {
    table.add(stack_id, std::int64_t{stack});
    add(allocations, by_stack_.at(stack).allocations, allocation_cap);
    add(frees, by_stack_.at(stack).frees, free_cap);
  }
  return table.take();
}

}  // namespace tare::core
