// See amounts.h.
#include "core/heavy_tables/amounts.h"

#include <algorithm>
#include <string>

namespace tare::core {

using trace::index;

void Amounts::claim(const ReportRow& first) {
  if (index(first.path) >= dictionary_.names.size()) return;
  Claimed& sums = (first.on_alloc != 0 ? on_alloc_ : in_round_)[index(first.path)];
  ++sums.blocks;
  sums.requested_bytes += first.requested;
  sums.usable_bytes += first.usable;
}

void Amounts::unclaim(const ReportRow& first) {
  ByPath& by_path = first.on_alloc != 0 ? on_alloc_ : in_round_;
  const auto sums = by_path.find(index(first.path));
  if (sums == by_path.end() || sums->second.blocks == 0) return;
  --sums->second.blocks;
  sums->second.requested_bytes -= std::min(sums->second.requested_bytes, first.requested);
  sums->second.usable_bytes -= std::min(sums->second.usable_bytes, first.usable);
}

void Amounts::set_amount(trace::NameId path, std::uint64_t bytes, std::uint64_t time_ns, std::uint32_t round) {
  Row& row = rows_.emplace_back();
  row.path = path;
  row.time_ns = time_ns;
  row.round = round;
  row.reported_bytes = bytes;
  if (index(row.path) >= dictionary_.names.size()) return;
  const std::string& above = dictionary_.names[index(row.path)];
  for (const ByPath* claimed_by : {&in_round_, &on_alloc_}) {
    for (const auto& [name, sums] : *claimed_by) {
      const std::string& below = dictionary_.names[name];
      const bool is_below = below.starts_with(above) && (below.size() == above.size() || below[above.size()] == '/');
      if (!is_below) continue;
      row.claimed.blocks += sums.blocks;
      row.claimed.requested_bytes += sums.requested_bytes;
      row.claimed.usable_bytes += sums.usable_bytes;
    }
  }
}

Table Amounts::table() const {
  TableBuilder table("amounts");
  const auto path = table.column("path", dictionary_.names);
  const auto int_column = [&](const char* name) { return table.column(name); };
  const auto time_ns = int_column("time_ns");
  const auto round_number = int_column("round");
  const auto reported = int_column("reported_bytes");
  const auto blocks = int_column("blocks");
  const auto requested = int_column("requested_bytes");
  const auto usable = int_column("usable_bytes");
  for (const Row& row : rows_) {
    if (index(row.path) < dictionary_.names.size()) {
      table.add_code(path, static_cast<std::int32_t>(index(row.path)));
    } else {
      table.add_null(path);
    }
    table.add(time_ns, to_column(row.time_ns));
    table.add(round_number, std::int64_t{row.round});
    table.add(reported, to_column(row.reported_bytes));
    table.add(blocks, to_column(row.claimed.blocks));
    table.add(requested, to_column(row.claimed.requested_bytes));
    table.add(usable, to_column(row.claimed.usable_bytes));
  }
  return table.take();
}

}  // namespace tare::core
