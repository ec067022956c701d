// Two walks: over all shapes for the sites' figures, and over the rows that get them.
#include "core/recording/written_sites.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare::core {
namespace {

struct Site {
  double blocks = 0;
  double narrow_blocks = 0;
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

// Columns within_N of table `written` whose N is below 60 % of a size: by N.
std::vector<std::pair<std::int64_t, const std::vector<double>*>> counts_by_limit(const Table& written) {
  constexpr std::string_view kPrefix = "within_";
  std::vector<std::pair<std::int64_t, const std::vector<double>*>> counts;
  for (const Column& column : written.columns) {
    if (!column.name.starts_with(kPrefix)) continue;
    const std::string limit = column.name.substr(kPrefix.size());
    if (limit != "more") counts.emplace_back(std::stoll(limit), &column.doubles);
  }
  return counts;
}

// Blocks of each site that weren't written beyond 60 % of its smallest block. Of larger blocks the mark is known by
// steps.
void add_narrow_blocks(const Table& written, ById<std::int64_t>& site_of, ById<Site>& by_site) {
  constexpr double kNarrow = 0.6;
  const auto counts = counts_by_limit(written);
  for (std::size_t row = 0; row < written.rows(); ++row) {
    Site& site = by_site[site_of[written["stack_id"].ints[row]]];
    if (written["requested_bytes"].ints[row] == site.smallest) {
      site.narrow_blocks += written["narrow_blocks"].doubles[row];
      continue;
    }
    for (const auto& [limit, blocks] : counts) {
      if (static_cast<double>(limit) < kNarrow * static_cast<double>(site.smallest))
        site.narrow_blocks += (*blocks)[row];
    }
  }
}

}  // namespace

Table written_at_sites(const Tables& replayed, const Tables& sites) {
  Table written = replayed["written"];
  const Table& stacks = sites["stack_sites"];
  const std::vector<std::int64_t>& stack_ids = stacks["stack_id"].ints;
  ById<std::int64_t> site_of;  // by stack
  for (std::size_t i = 0; i < stack_ids.size() && written.rows() != 0; ++i)
    site_of[stack_ids[i]] = stacks["site_id"].ints[i];
  const std::vector<std::int64_t>& shapes = written["size_id"].ints;
  const std::vector<std::int64_t>& marks = written["max_high_water_bytes"].ints;
  ById<Mark> mark_of;  // by shape
  for (std::size_t i = 0; i < written.rows(); ++i) mark_of[shapes[i]].bytes = marks[i];
  ById<Site> by_site;
  const Table& sizes = replayed["site_sizes"];
  const std::vector<std::int64_t>& all_shapes = sizes["size_id"].ints;
  const std::vector<std::int64_t>& all_stacks = sizes["stack_id"].ints;
  const std::vector<std::int64_t>& requested = sizes["requested_bytes"].ints;
  const std::vector<std::int64_t>& total = sizes["total_blocks"].ints;
  const std::vector<std::int64_t>& end = sizes["end_blocks"].ints;
  const std::vector<std::int64_t>& inherited = sizes["inherited"].ints;
  const std::vector<double>& weight = sizes["weight"].doubles;
  const std::vector<std::int64_t>& at_exit = replayed["process"]["contents_at_exit"].ints;
  const bool has_exit_contents = !at_exit.empty() && at_exit.front() != 0;
  for (std::size_t i = 0; i < sizes.rows() && written.rows() != 0; ++i) {
    const std::int64_t ended = total[i] - (has_exit_contents ? 0 : end[i]);
    if (inherited[i] != 0 || ended <= 0) continue;
    Site& site = by_site[site_of[all_stacks[i]]];
    site.blocks += static_cast<double>(ended) * weight[i];
    site.mark = std::max(site.mark, std::min(requested[i], mark_of[all_shapes[i]].bytes));
    site.smallest = std::min(site.smallest, requested[i]);
  }
  Column blocks{"site_blocks", ColumnType::Double, {}, {}, {}, {}, {}};
  add_narrow_blocks(written, site_of, by_site);
  Column narrow{"site_narrow_blocks", ColumnType::Double, {}, {}, {}, {}, {}};
  Column most{"site_high_water_bytes", ColumnType::Int64, {}, {}, {}, {}, {}};
  Column smallest{"site_requested_bytes", ColumnType::Int64, {}, {}, {}, {}, {}};
  for (const std::int64_t stack : written["stack_id"].ints) {
    const Site& site = by_site[site_of[stack]];
    blocks.doubles.push_back(site.blocks);
    narrow.doubles.push_back(site.narrow_blocks);
    most.ints.push_back(site.mark);
    smallest.ints.push_back(site.smallest);
  }
  for (Column* column : {&blocks, &narrow, &most, &smallest}) written.columns.push_back(std::move(*column));
  return written;
}

}  // namespace tare::core
