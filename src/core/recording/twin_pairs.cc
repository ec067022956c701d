// Looks both shapes up, and applies the model to their sum: see twin_pairs.h.
#include "core/recording/twin_pairs.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tare::core {
namespace {

std::optional<std::int64_t> gross_of(const SizeModel* model, std::int64_t requested_bytes) {
  const auto bytes = static_cast<std::size_t>(requested_bytes);
  if (model == nullptr || bytes > kLargestRequest) return std::nullopt;
  return static_cast<std::int64_t>(size_class(*model, bytes).slot_bytes);
}

}  // namespace

Table twin_pairs_table(Table twins, const Table& site_sizes, const SizeModel* model) {
  std::unordered_map<std::int64_t, std::size_t> row_of;  // by shape
  const std::vector<std::int64_t>& shapes = site_sizes["size_id"].ints;
  if (twins.rows() != 0) {
    for (std::size_t row = 0; row < shapes.size(); ++row) row_of.emplace(shapes[row], row);
  }
  const std::vector<std::int64_t>& requested = site_sizes["requested_bytes"].ints;
  const auto gross = [&](std::size_t row) {
    return site_sizes["usable_bytes"].ints[row] + site_sizes["header_bytes"].ints[row];
  };
  TableBuilder sizes("twins");
  const auto apart_bytes = sizes.column("apart_gross_bytes");
  const auto joined_bytes = sizes.column("joined_bytes");
  const auto joined_gross = sizes.column("joined_gross_bytes");
  for (std::size_t pair = 0; pair < twins.rows(); ++pair) {
    const auto first = row_of.find(twins["first_size_id"].ints[pair]);
    const auto second = row_of.find(twins["second_size_id"].ints[pair]);
    if (first == row_of.end() || second == row_of.end()) {  // a shape without events: damage
      for (const auto column : {apart_bytes, joined_bytes, joined_gross}) sizes.add_null(column);
      continue;
    }
    const std::int64_t joined = (requested[first->second] + 7) / 8 * 8 + requested[second->second];
    sizes.add(apart_bytes, gross(first->second) + gross(second->second));
    sizes.add(joined_bytes, joined);
    sizes.add(joined_gross, gross_of(model, joined));
  }
  for (Column& column : sizes.take().columns) twins.columns.push_back(std::move(column));
  return twins;
}

}  // namespace tare::core
