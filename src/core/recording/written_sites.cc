// Two walks: over all shapes for the sites' figures, and over the rows that get them.
#include "core/recording/written_sites.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace tare::core {
namespace {

struct Site {
  double blocks = 0;
  std::int64_t mark = 0;
  std::int64_t smallest = INT64_MAX;
};

}  // namespace

Table written_at_sites(const Tables& replayed, const Tables& sites) {
  Table written = replayed["written"];
  const Table& stacks = sites["stack_sites"];
  std::unordered_map<std::int64_t, std::int64_t> site_of;  // by stack
  if (written.rows() != 0) {
    for (std::size_t i = 0; i < stacks.rows(); ++i)
      site_of.emplace(stacks["stack_id"].ints[i], stacks["site_id"].ints[i]);
  }
  std::unordered_map<std::int64_t, std::int64_t> mark_of;  // by shape; the others were written to their end
  for (std::size_t i = 0; i < written.rows(); ++i)
    mark_of.emplace(written["shape_id"].ints[i], written["max_high_water_bytes"].ints[i]);
  std::unordered_map<std::int64_t, Site> by_site;
  const Table& sizes = replayed["site_sizes"];
  const Column& requested = sizes["requested_bytes"];
  for (std::size_t i = 0; i < sizes.rows() && written.rows() != 0; ++i) {
    const std::int64_t ended = sizes["total_blocks"].ints[i] - sizes["end_blocks"].ints[i];
    if (sizes["inherited"].ints[i] != 0 || ended <= 0) continue;
    const auto mark = mark_of.find(sizes["shape_id"].ints[i]);
    Site& site = by_site[site_of[sizes["stack_id"].ints[i]]];
    site.blocks += static_cast<double>(ended) * sizes["weight"].doubles[i];
    site.mark = std::max(site.mark, mark == mark_of.end() ? requested.ints[i] : mark->second);
    site.smallest = std::min(site.smallest, requested.ints[i]);
  }
  Column blocks{"site_blocks", ColumnType::Double, {}, {}, {}, {}, {}};
  Column marks{"site_high_water_bytes", ColumnType::Int64, {}, {}, {}, {}, {}};
  Column smallest{"site_requested_bytes", ColumnType::Int64, {}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < written.rows(); ++i) {
    const Site& site = by_site[site_of[written["stack_id"].ints[i]]];
    blocks.doubles.push_back(site.blocks);
    marks.ints.push_back(site.mark);
    smallest.ints.push_back(site.smallest);
  }
  for (Column* column : {&blocks, &marks, &smallest}) written.columns.push_back(std::move(*column));
  return written;
}

}  // namespace tare::core
