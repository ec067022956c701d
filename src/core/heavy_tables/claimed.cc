// Counted blocks as a table.
#include "core/heavy_tables/claimed.h"

namespace tare::core {

Table claimed_table(const ClaimedBlocks& blocks, const trace::Dictionary& dictionary) {
  TableBuilder table("claimed");
  const auto stack_id = table.column("stack_id");
  const auto kind = table.column("kind", {"malloc", "pool block", "pool memory"});
  const auto requested = table.column("requested_bytes");
  const auto usable = table.column("usable_bytes");
  const auto header = table.column("header_bytes");
  const auto weight = table.column("weight");
  const auto count = table.column("blocks");
  const auto reports = table.column("reports");
  const auto path = table.column("path", dictionary.names);
  const auto report_stack = table.column("report_stack_id");
  const auto second_path = table.column("second_path", dictionary.names);
  const auto second_stack = table.column("second_report_stack_id");
  const auto formerly = table.column("formerly", dictionary.names);
  const auto add_path = [&](TableBuilder::ColumnId column, std::uint32_t name) {
    if (name < dictionary.names.size()) {
      table.add_code(column, static_cast<std::int32_t>(name));
    } else {
      table.add_null(column);
    }
  };
  const auto add_stack = [&](TableBuilder::ColumnId column, std::uint32_t stack) {
    table.add(column, stack == 0 ? std::nullopt : std::optional(std::int64_t{stack}));
  };
  for (const auto& [key, number] : blocks) {
    table.add(stack_id, std::int64_t{key.stack});
    table.add_code(kind, static_cast<std::int32_t>(key.kind));
    table.add(requested, to_column(key.requested_bytes));
    table.add(usable, to_column(key.usable_bytes));
    table.add(header, to_column(key.header_bytes));
    table.add(weight, key.weight);
    table.add(count, to_column(number));
    table.add(reports, std::int64_t{key.claims.reports});
    add_path(path, key.claims.first.path);
    add_stack(report_stack, key.claims.first.stack);
    add_path(second_path, key.claims.again.path);
    add_stack(second_stack, key.claims.again.stack);
    add_path(formerly, key.claims.formerly);
  }
  return table.take();
}

}  // namespace tare::core
