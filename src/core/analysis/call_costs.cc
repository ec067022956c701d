// Summing timed calls: see call_costs.h.
#include "core/analysis/call_costs.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tare::core {
namespace {

constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 44;  // an hour; a damaged trace may claim more

}  // namespace

void CallCosts::Sum::add(std::uint64_t more_ticks) {
  more_ticks = std::min(more_ticks, kMostTicks);
  ++calls;
  ticks += more_ticks;
  max_ticks = std::max(max_ticks, more_ticks);
}

Table CallCosts::table(double ns_per_tick) const {
  TableBuilder table("call_costs");
  struct Columns {
    TableBuilder::ColumnId calls, ns, max_ns;
  };
  const auto columns = [&](const std::string& of) {
    return Columns{table.column(of + "calls"), table.column(of + "ns"), table.column("max_" + of + "ns")};
  };
  const auto stack_id = table.column("stack_id");
  const Columns allocations = columns("");
  const Columns frees = columns("free_");
  const auto add = [&](const Columns& to, const Sum& sum) {
    table.add(to.calls, to_column(sum.calls));
    table.add(to.ns, static_cast<double>(sum.ticks) * ns_per_tick);
    table.add(to.max_ns, static_cast<double>(sum.max_ticks) * ns_per_tick);
  };
  std::vector<std::uint32_t> stacks;
  for (const auto& [stack, costs] : by_stack_) stacks.push_back(stack);
  std::sort(stacks.begin(), stacks.end());
  for (const std::uint32_t stack : stacks) {
    table.add(stack_id, std::int64_t{stack});
    add(allocations, by_stack_.at(stack).allocations);
    add(frees, by_stack_.at(stack).frees);
  }
  return table.take();
}

}  // namespace tare::core
