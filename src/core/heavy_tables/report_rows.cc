// See report_rows.h.
#include "core/heavy_tables/report_rows.h"

#include <utility>

namespace tare::core {

using trace::index;

void ReportRows::link(ReportRow& row, BlockReports& of) const {
  if (of.round != round_) of.in_round = 0;
  of.round = round_;
  ++(row.on_alloc != 0 ? of.from_on_alloc : of.in_round);
  row.nth = of.from_on_alloc + of.in_round;
  row.before = std::exchange(of.last, rows_.size() + 1);
}

const ReportRow* ReportRows::first_standing(const BlockReports& of) const {
  const ReportRow* first = nullptr;
  for (std::size_t at = of.last; at != 0; at = rows_[at - 1].before) {
    if (stands(rows_[at - 1])) first = &rows_[at - 1];
  }
  return first;
}

Claims ReportRows::claims_of(const BlockReports& of) const {
  Claims claims;
  for (std::size_t at = of.last; at != 0; at = rows_[at - 1].before) {
    const ReportRow& row = rows_[at - 1];
    if (!stands(row)) {
      if (claims.formerly == Claim::kNone) claims.formerly = index(row.path);
      continue;
    }
    ++claims.reports;
    claims.again = claims.first;
    claims.first = {index(row.path), index(row.stack)};
  }
  if (claims.reports != 0) claims.formerly = Claim::kNone;
  return claims;
}

Table ReportRows::table(const trace::Dictionary& dictionary,
                        const std::function<bool(const ReportRow& row)>& is_live) const {
  // One word for each name: a million rows contain a dozen.
  TableBuilder table("reports");
  const auto path = table.column("path", dictionary.names);
  const auto int_column = [&](const char* name) { return table.column(name); };
  const auto block_id = int_column("block_id");
  const auto pool_block_id = int_column("pool_block_id");
  const auto address = int_column("address");
  const auto requested = int_column("requested_bytes");
  const auto usable = int_column("usable_bytes");
  const auto weight = table.column("weight");
  const auto time_ns = int_column("time_ns");
  const auto thread = int_column("thread");
  const auto stack = int_column("stack_id");
  const auto round_number = int_column("round");
  const auto on_alloc = int_column("on_alloc");
  const auto nth = int_column("nth");
  const auto standing = int_column("standing");
  table.reserve(rows_.size());
  const auto add_id = [&](TableBuilder::ColumnId column, const std::optional<std::uint64_t>& id) {
    table.add(column, id ? std::optional(to_column(*id)) : std::nullopt);
  };
  for (const ReportRow& row : rows_) {
    if (index(row.path) < dictionary.names.size()) {
      table.add_code(path, static_cast<std::int32_t>(index(row.path)));
    } else {
      table.add_null(path);
    }
    const bool is_known = row.block || row.pool_block;
    add_id(block_id, row.block);
    add_id(pool_block_id, row.pool_block);
    table.add(address, to_column(row.address));
    table.add(requested, is_known ? std::optional(to_column(row.requested)) : std::nullopt);
    table.add(usable, is_known ? std::optional(to_column(row.usable)) : std::nullopt);
    table.add(weight, row.weight);
    table.add(time_ns, to_column(row.time_ns));
    table.add(thread, std::int64_t{row.thread});
    table.add(stack, row.stack == trace::kEmptyStack ? std::nullopt : std::optional(std::int64_t{index(row.stack)}));
    table.add(round_number, std::int64_t{row.round});
    table.add(on_alloc, std::int64_t{row.on_alloc});
    table.add(nth, std::int64_t{row.nth});
    table.add(standing, std::int64_t{stands(row) && is_live(row)});
  }
  return table.take();
}

}  // namespace tare::core
