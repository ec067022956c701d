// Summing timed calls: see call_costs.h.
#include "core/replay/call_costs.h"

#include <algorithm>
#include <vector>

namespace tare::core {
namespace {

constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 44;  // an hour; a damaged trace may claim more

}  // namespace

void CallCosts::add(trace::StackId stack, std::uint64_t ticks) {
  Sum& sum = by_stack_[trace::index(stack)];
  ticks = std::min(ticks, kMostTicks);
  ++sum.calls;
  sum.ticks += ticks;
  sum.most_ticks = std::max(sum.most_ticks, ticks);
}

Table CallCosts::table(double ns_per_tick) const {
  TableBuilder table("call_costs");
  const auto stack_id = table.column("stack_id", ColumnType::Int64);
  const auto calls = table.column("calls", ColumnType::Int64);
  const auto ns = table.column("ns", ColumnType::Double);
  const auto most_ns = table.column("most_ns", ColumnType::Double);
  std::vector<std::uint32_t> stacks;
  for (const auto& [stack, sum] : by_stack_) stacks.push_back(stack);
  std::sort(stacks.begin(), stacks.end());
  for (const std::uint32_t stack : stacks) {
    const Sum& sum = by_stack_.at(stack);
    table.add(stack_id, std::int64_t{stack});
    table.add(calls, to_column(sum.calls));
    table.add(ns, static_cast<double>(sum.ticks) * ns_per_tick);
    table.add(most_ns, static_cast<double>(sum.most_ticks) * ns_per_tick);
  }
  return table.take();
}

}  // namespace tare::core
