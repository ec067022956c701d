// Two walks: over all shapes for the sites' figures, and over the rows that get them.
#include "core/recording/written_sites.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tare::core {
namespace {

struct Site {
  double blocks = 0;
  std::int64_t mark = 0;
  std::int64_t smallest = INT64_MAX;
};

// A table by ids that count from 0; missing entries are default values.
template <typename Value>
class ById {
 public:
  Value& operator[](std::int64_t id) {
    const auto at = static_cast<std::size_t>(id);
    if (at >= values_.size()) values_.resize(std::max(at + 1, 2 * values_.size()));
    return values_[at];
  }

 private:
  std::vector<Value> values_;
};

struct Mark {
  std::int64_t bytes = INT64_MAX;  // written to its end
};

}  // namespace

Table written_at_sites(const Tables& replayed, const Tables& sites) {
  Table written = replayed["written"];
  const Table& stacks = sites["stack_sites"];
  const std::vector<std::int64_t>& stack_ids = stacks["stack_id"].ints;
  ById<std::int64_t> site_of;  // by stack
  for (std::size_t i = 0; i < stack_ids.size() && written.rows() != 0; ++i)
    site_of[stack_ids[i]] = stacks["site_id"].ints[i];
  const std::vector<std::int64_t>& shapes = written["shape_id"].ints;
  const std::vector<std::int64_t>& marks = written["max_high_water_bytes"].ints;
  ById<Mark> mark_of;  // by shape
  for (std::size_t i = 0; i < written.rows(); ++i) mark_of[shapes[i]].bytes = marks[i];
  ById<Site> by_site;
  const Table& sizes = replayed["site_sizes"];
  const std::vector<std::int64_t>& all_shapes = sizes["shape_id"].ints;
  const std::vector<std::int64_t>& all_stacks = sizes["stack_id"].ints;
  const std::vector<std::int64_t>& requested = sizes["requested_bytes"].ints;
  const std::vector<std::int64_t>& total = sizes["total_blocks"].ints;
  const std::vector<std::int64_t>& end = sizes["end_blocks"].ints;
  const std::vector<std::int64_t>& inherited = sizes["inherited"].ints;
  const std::vector<double>& weight = sizes["weight"].doubles;
  for (std::size_t i = 0; i < sizes.rows() && written.rows() != 0; ++i) {
    const std::int64_t ended = total[i] - end[i];
    if (inherited[i] != 0 || ended <= 0) continue;
    Site& site = by_site[site_of[all_stacks[i]]];
    site.blocks += static_cast<double>(ended) * weight[i];
    site.mark = std::max(site.mark, std::min(requested[i], mark_of[all_shapes[i]].bytes));
    site.smallest = std::min(site.smallest, requested[i]);
  }
  Column blocks{"site_blocks", ColumnType::Double, {}, {}, {}, {}, {}};
  Column most{"site_high_water_bytes", ColumnType::Int64, {}, {}, {}, {}, {}};
  Column smallest{"site_requested_bytes", ColumnType::Int64, {}, {}, {}, {}, {}};
  for (const std::int64_t stack : written["stack_id"].ints) {
    const Site& site = by_site[site_of[stack]];
    blocks.doubles.push_back(site.blocks);
    most.ints.push_back(site.mark);
    smallest.ints.push_back(site.smallest);
  }
  for (Column* column : {&blocks, &most, &smallest}) written.columns.push_back(std::move(*column));
  return written;
}

}  // namespace tare::core
