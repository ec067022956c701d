// Tables made by hand: as many columns of site_sizes as the tests look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/columns/tables.h"

namespace tare::core {

struct MadeUpShape {
  std::int64_t stack;
  std::int64_t requested_bytes;
  std::int64_t usable_bytes;
  std::int64_t total_blocks;
  std::int64_t peak_blocks = 0;
  std::int64_t align_bytes = 0;
  double weight = 1;
};

inline Table process_of(const std::string& allocator) {
  TableBuilder table("process");
  table.add(table.column("allocator", ColumnType::String), std::string_view(allocator));
  return table.take();
}

inline Table site_sizes_of(const std::vector<MadeUpShape>& shapes) {
  TableBuilder table("site_sizes");
  const auto column = [&](const char* name) { return table.column(name, ColumnType::Int64); };
  const auto size_id = column("size_id");
  const auto stack_id = column("stack_id");
  const auto api = table.column("api", ColumnType::String);
  const auto align = column("align_bytes");
  const auto requested = column("requested_bytes");
  const auto usable = column("usable_bytes");
  const auto header = column("header_bytes");
  const auto weight = table.column("weight", ColumnType::Double);
  const auto total = column("total_blocks");
  const auto peak = column("peak_blocks");
  const auto end = column("end_blocks");
  const auto at = column("at_blocks");
  const auto inherited = column("inherited");
  const auto byte_ns = table.column("byte_ns", ColumnType::Double);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const MadeUpShape& shape = shapes[i];
    table.add(size_id, static_cast<std::int64_t>(i));
    table.add(stack_id, shape.stack);
    table.add(api, std::string_view("malloc"));
    table.add(align, shape.align_bytes);
    table.add(requested, shape.requested_bytes);
    table.add(usable, shape.usable_bytes);
    table.add(header, std::int64_t{8});
    table.add(weight, shape.weight);
    table.add(total, shape.total_blocks);
    table.add(peak, shape.peak_blocks);
    table.add(end, std::int64_t{0});
    table.add_null(at);
    table.add(inherited, std::int64_t{0});
    table.add(byte_ns, 0.5 * static_cast<double>(shape.total_blocks));
  }
  return table.take();
}

// Stack i belongs to site `sites[i]`, site s is named by row `rows[s]`; a negative row is none.
inline Tables sites_of(const std::vector<std::int64_t>& sites, const std::vector<std::int64_t>& rows) {
  TableBuilder site_table("sites");
  const auto site_id = site_table.column("site_id", ColumnType::Int64);
  const auto site_stack = site_table.column("stack_id", ColumnType::Int64);
  const auto site_location = site_table.column("site_location_id", ColumnType::Int64);
  for (std::size_t site = 0; site < rows.size(); ++site) {
    site_table.add(site_id, static_cast<std::int64_t>(site));
    site_table.add(site_stack, static_cast<std::int64_t>(100 + site));
    if (rows[site] < 0) {
      site_table.add_null(site_location);
    } else {
      site_table.add(site_location, rows[site]);
    }
  }
  TableBuilder stack_table("stack_sites");
  const auto stack_id = stack_table.column("stack_id", ColumnType::Int64);
  const auto stack_site = stack_table.column("site_id", ColumnType::Int64);
  for (std::size_t stack = 0; stack < sites.size(); ++stack) {
    stack_table.add(stack_id, static_cast<std::int64_t>(stack));
    stack_table.add(stack_site, sites[stack]);
  }
  Tables tables;
  tables.put(site_table.take());
  tables.put(stack_table.take());
  return tables;
}

}  // namespace tare::core
