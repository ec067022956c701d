// Rows of site_sizes that become one: of equal sizes and weight, and of stacks that one stack stands for.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/columns/tables.h"
#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"

namespace tare::core {

// Columns of site_sizes that distinguish folded shapes, beside the line and whether pools or malloc made the block.
inline constexpr const char* kKeys[] = {"requested_bytes", "usable_bytes", "header_bytes", "inherited"};
// ... that are added up.
inline constexpr const char* kCounts[] = {"total_blocks",       "peak_blocks",     "end_blocks",
                                          "freed_within_16",    "freed_within_64", "freed_within_256",
                                          "freed_within_65536", "freed_later"};
inline constexpr const char* kAmounts[] = {"lifetime_ns", "byte_ns"};

// The rows of site_sizes, grouped.
struct Groups {
  std::vector<std::uint32_t> group_of;  // by row
  std::vector<std::uint32_t> first;     // by group: its first row
};

// Only rows of one line are grouped.
template <typename LineOf>
Groups group_rows(const Table& sizes, const LineOf& line_of) {
  Groups groups;
  const std::size_t rows = sizes.rows();
  std::vector<const std::vector<std::int64_t>*> keys;
  for (const char* name : kKeys) keys.push_back(&sizes[name].ints);
  const std::vector<double>& weights = sizes["weight"].doubles;
  const std::vector<std::int32_t>& apis = sizes["api"].codes;
  const auto giver = [&](std::size_t row) { return std::max(apis[row], kPoolBlockWord - 1); };
  const auto same = [&](std::size_t a, std::size_t b) {
    if (weights[a] != weights[b] || giver(a) != giver(b) || line_of(a) != line_of(b)) return false;
    for (const auto* key : keys) {
      if ((*key)[a] != (*key)[b]) return false;
    }
    return true;
  };
  trace::IdTable known;
  groups.group_of.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    std::uint64_t hash =
        trace::mix_hash(std::bit_cast<std::uint64_t>(weights[row]), static_cast<std::uint64_t>(line_of(row)));
    hash = trace::mix_hash(hash, static_cast<std::uint64_t>(giver(row)));
    for (const auto* key : keys) hash = trace::mix_hash(hash, static_cast<std::uint64_t>((*key)[row]));
    groups.group_of.push_back(known.find_or_make(
        hash, [&](std::uint32_t group) { return same(groups.first[group], row); },
        [&] {
          groups.first.push_back(static_cast<std::uint32_t>(row));
          return static_cast<std::uint32_t>(groups.first.size() - 1);
        }));
  }
  return groups;
}

// `stack_for`: of a row's stack, the one that stands for its group.
template <typename StackFor>
Table fold_sizes(const Table& sizes, const Groups& groups, const StackFor& stack_for) {
  Table folded{sizes.name, {}};
  for (const Column& column : sizes.columns) {
    Column out;  // filled anew: copying a compiler's 245,000 values to drop them was a third of folding
    out.name = column.name;
    out.type = column.type;
    out.words = column.words;
    const auto is_one_of = [&](const auto& names) {
      for (const char* name : names) {
        if (column.name == name) return true;
      }
      return false;
    };
    if (is_one_of(kCounts)) {
      out.ints.assign(groups.first.size(), 0);
      for (std::size_t row = 0; row < sizes.rows(); ++row) out.ints[groups.group_of[row]] += column.ints[row];
    } else if (is_one_of(kAmounts)) {
      out.doubles.assign(groups.first.size(), 0);
      for (std::size_t row = 0; row < sizes.rows(); ++row) out.doubles[groups.group_of[row]] += column.doubles[row];
    } else {
      for (std::size_t group = 0; group < groups.first.size(); ++group) {
        const std::uint32_t row = groups.first[group];
        if (column.name == "size_id") {
          out.ints.push_back(static_cast<std::int64_t>(group));
        } else if (column.name == "stack_id") {
          out.ints.push_back(stack_for(column.ints[row]));
        } else if (column.type == ColumnType::Int64) {
          out.ints.push_back(column.ints[row]);
        } else if (column.type == ColumnType::Double) {
          out.doubles.push_back(column.doubles[row]);
        } else {
          out.codes.push_back(column.codes[row]);
        }
        if (!column.valid.empty()) out.valid.push_back(column.valid[row]);
      }
    }
    folded.columns.push_back(std::move(out));
  }
  return folded;
}

}  // namespace tare::core
