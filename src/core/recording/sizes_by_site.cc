// Of a site's stacks, the first one that neither grows blocks nor has a large shape stands for all of these.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/recording/fold.h"
#include "core/recording/shape_groups.h"

namespace tare::core {
namespace {

// Not above the bounds of python/tare/types/site_layouts.py: it finds types for the stacks of shapes from these on.
constexpr double kLeastShare = 0.001;
constexpr double kLeastBytes = 1024;

// Those with a shape of at least that share of gross, at the peak or the end.
std::unordered_set<std::int64_t> large_stacks(const Table& sizes) {
  const std::vector<std::int64_t>& stacks = sizes["stack_id"].ints;
  const std::vector<std::int64_t>& usable = sizes["usable_bytes"].ints;
  const std::vector<std::int64_t>& header = sizes["header_bytes"].ints;
  const std::vector<double>& weights = sizes["weight"].doubles;
  std::unordered_set<std::int64_t> found;
  for (const char* moment : {"peak_blocks", "end_blocks"}) {
    const std::vector<std::int64_t>& blocks = sizes[moment].ints;
    const auto gross = [&](std::size_t row) {
      return static_cast<double>(usable[row] + header[row]) * static_cast<double>(blocks[row]) * weights[row];
    };
    double sum = 0;
    for (std::size_t row = 0; row < stacks.size(); ++row) sum += gross(row);
    const double least = std::max(kLeastBytes, 0.999 * kLeastShare * sum);  // the sum's rounding may differ
    for (std::size_t row = 0; row < stacks.size(); ++row) {
      if (gross(row) >= least) found.insert(stacks[row]);
    }
  }
  return found;
}

// Stacks that tables beside site_sizes name.
void add_named_stacks(const Tables& replayed, std::unordered_set<std::int64_t>& named) {
  for (const Table& table : replayed.tables) {
    if (table.name == "site_sizes" || table.name == "stacks") continue;
    for (const Column& column : table.columns) {
      if (column.name == "stack_id") named.insert(column.ints.begin(), column.ints.end());
    }
  }
}

}  // namespace

Tables fold_sizes_by_site(const Tables& replayed, const Tables& sites) {
  const Table& sizes = replayed["site_sizes"];
  const std::vector<std::int64_t>& known_stacks = sites["stack_sites"]["stack_id"].ints;
  const std::vector<std::int64_t>& known_sites = sites["stack_sites"]["site_id"].ints;
  std::unordered_map<std::int64_t, std::int64_t> site_of;
  site_of.reserve(known_stacks.size());
  for (std::size_t row = 0; row < known_stacks.size(); ++row) site_of.emplace(known_stacks[row], known_sites[row]);

  const std::vector<std::int64_t>& growing = replayed["growth"]["stack_id"].ints;
  const std::unordered_set<std::int64_t> large = large_stacks(sizes);
  std::unordered_set<std::int64_t> apart = large;
  apart.insert(growing.begin(), growing.end());
  std::unordered_map<std::int64_t, std::int64_t> chosen;  // by site
  const auto stack_for = [&](std::int64_t stack) {
    return apart.contains(stack) ? stack : chosen.try_emplace(site_of.at(stack), stack).first->second;
  };
  std::vector<std::int64_t> stacks;  // by row
  stacks.reserve(sizes.rows());
  for (const std::int64_t stack : sizes["stack_id"].ints) stacks.push_back(stack_for(stack));

  Tables folded;
  folded.put(fold_sizes(sizes, group_rows(sizes, [&](std::size_t row) { return stacks[row]; }), stack_for));
  std::unordered_set<std::int64_t> named(stacks.begin(), stacks.end());
  add_named_stacks(replayed, named);
  TableBuilder kept("stack_sites");
  const auto stack_id = kept.column("stack_id");
  const auto site_id = kept.column("site_id");
  for (std::size_t row = 0; row < known_stacks.size(); ++row) {
    if (!named.contains(known_stacks[row])) continue;
    kept.add(stack_id, known_stacks[row]);
    kept.add(site_id, known_sites[row]);
  }
  folded.put(kept.take());
  TableBuilder large_table("large_stacks");
  const auto large_id = large_table.column("stack_id", ColumnType::Int64);
  for (const std::int64_t stack : large) large_table.add(large_id, stack);
  folded.put(large_table.take());
  return folded;
}

}  // namespace tare::core
