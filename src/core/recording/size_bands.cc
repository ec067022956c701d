// Line by line: the rows to keep are chosen, the others fill up bands until one would pass its line's greatest.
#include "core/recording/size_bands.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace tare::core {
namespace {

constexpr std::size_t kFewSizes = 4;     // of a line: three are kept anyway
constexpr std::int64_t kSteps = 5;       // 16, 32, 48, 64 bytes, and all above: the ranges of small blocks in lenses
constexpr double kWeightOfTotal = 1e-6;  // the worth of a byte over the whole run beside one at the peak, as in lenses

enum class Moment : std::uint8_t { Peak, End, Total };
constexpr std::array kMoments = {Moment::Peak, Moment::End, Moment::Total};

// The columns that are read.
struct Sizes {
  explicit Sizes(const Table& table)
      : stack(table["stack_id"].ints),
        api(table["api"].codes),
        requested(table["requested_bytes"].ints),
        usable(table["usable_bytes"].ints),
        header(table["header_bytes"].ints),
        inherited(table["inherited"].ints),
        weight(table["weight"].doubles),
        blocks{&table["peak_blocks"].ints, &table["end_blocks"].ints, &table["total_blocks"].ints} {}

  double count(std::size_t row, Moment moment) const {
    return weight[row] * static_cast<double>((*blocks[static_cast<std::size_t>(moment)])[row]);
  }
  double slop(std::size_t row) const { return static_cast<double>(usable[row] - requested[row]); }
  // The order of sizes in lenses.
  double rank(std::size_t row) const {
    return slop(row) * (count(row, Moment::Peak) + kWeightOfTotal * count(row, Moment::Total));
  }
  std::int32_t giver(std::size_t row) const { return std::max(api[row], kPoolBlockWord - 1); }

  const std::vector<std::int64_t>& stack;
  const std::vector<std::int32_t>& api;
  const std::vector<std::int64_t>& requested;
  const std::vector<std::int64_t>& usable;
  const std::vector<std::int64_t>& header;
  const std::vector<std::int64_t>& inherited;
  const std::vector<double>& weight;
  std::array<const std::vector<std::int64_t>*, 3> blocks;
};

// A row of the result: a row as it was, or members' blocks of one moment.
struct Band {
  std::vector<std::uint32_t> members;
  bool whole = true;
  Moment moment = Moment::Total;
  double blocks = 0;  // of all members, and the bytes of slop by which lenses rank them
  double rank = 0;
};

using Kind = std::tuple<Moment, std::int64_t, bool, std::int64_t, std::int64_t, double>;

Kind kind_of(const Sizes& sizes, std::size_t row, Moment moment) {
  return {moment,
          std::min((sizes.requested[row] + 15) / 16, kSteps),
          sizes.slop(row) > 0,
          sizes.header[row],
          sizes.inherited[row],
          sizes.weight[row]};
}

// Of `rows`, which one line has from one giver.
std::vector<Band> bands_of(const Sizes& sizes, std::span<const std::uint32_t> rows, const SizeModel* model) {
  std::vector<Band> bands;
  std::vector<std::uint32_t> others;
  for (const std::uint32_t row : rows) {
    const bool clownshoe = model != nullptr && is_clownshoe(*model, static_cast<std::size_t>(sizes.requested[row]));
    if (clownshoe) {
      bands.push_back({.members = {row}});
    } else {
      others.push_back(row);
    }
  }
  std::vector<std::uint32_t> kept;  // three at most
  double most_blocks = 0;
  double most_slop = 0;
  if (!others.empty()) {
    const auto keep_greatest = [&](const auto& value) {
      const auto greatest = std::max_element(others.begin(), others.end(),
                                             [&](std::uint32_t a, std::uint32_t b) { return value(a) < value(b); });
      if (std::find(kept.begin(), kept.end(), *greatest) == kept.end()) kept.push_back(*greatest);
      return value(*greatest);
    };
    most_blocks = keep_greatest([&](std::uint32_t row) { return sizes.count(row, Moment::Total); });
    most_slop = keep_greatest([&](std::uint32_t row) { return sizes.rank(row); });
    keep_greatest([&](std::uint32_t row) { return static_cast<double>(sizes.requested[row]); });
  }
  for (const std::uint32_t row : kept) bands.push_back({.members = {row}});
  std::map<Kind, std::size_t> open;  // into bands
  for (const std::uint32_t row : others) {
    if (std::find(kept.begin(), kept.end(), row) != kept.end()) continue;
    for (const Moment moment : kMoments) {
      const double count = sizes.count(row, moment);
      if (count == 0) continue;
      const double blocks = moment == Moment::Total ? count : 0;
      const double rank = moment == Moment::End ? 0 : sizes.slop(row) * count * (blocks > 0 ? kWeightOfTotal : 1);
      const auto [known, fresh] = open.try_emplace(kind_of(sizes, row, moment), bands.size());
      const Band* band = fresh ? nullptr : &bands[known->second];
      if (band == nullptr || band->blocks + blocks >= most_blocks || (rank > 0 && band->rank + rank >= most_slop)) {
        known->second = bands.size();
        bands.push_back({.members = {}, .whole = false, .moment = moment});
      }
      Band& into = bands[known->second];
      into.members.push_back(row);
      into.blocks += blocks;
      into.rank += rank;
    }
    if (bands.size() >= rows.size()) break;  // nothing gained: see below
  }
  if (bands.size() < rows.size()) return bands;
  bands.clear();
  for (const std::uint32_t row : rows) bands.push_back({.members = {row}});
  return bands;
}

// The rows by line and giver, each in the order that they had.
std::vector<std::uint32_t> by_line(const Sizes& sizes) {
  std::vector<std::uint32_t> rows(sizes.stack.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::make_pair(sizes.stack[a], sizes.giver(a)) < std::make_pair(sizes.stack[b], sizes.giver(b));
  });
  return rows;
}

// Which column a band fills at its moment; the others are 0 there.
bool belongs_to(std::string_view column, Moment moment) {
  if (column == "peak_blocks") return moment == Moment::Peak;
  if (column == "end_blocks") return moment == Moment::End;
  return moment == Moment::Total;
}

bool is_summed(std::string_view column) {
  return column.ends_with("_blocks") || column.starts_with("freed_") || column == "lifetime_ns" || column == "byte_ns";
}

Column joined(const Column& column, const Sizes& sizes, const std::vector<Band>& bands) {
  Column out;
  out.name = column.name;
  out.type = column.type;
  out.words = column.words;
  const bool is_size = column.name == "requested_bytes" || column.name == "usable_bytes";
  if (is_size) out.type = ColumnType::Double;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const Band& band = bands[i];
    const std::uint32_t first = band.members.front();
    if (!column.valid.empty()) out.valid.push_back(column.valid[first]);
    if (column.name == "size_id") {
      out.ints.push_back(static_cast<std::int64_t>(i));
    } else if (is_size) {
      double bytes = 0;
      double blocks = 0;
      for (const std::uint32_t row : band.members) {
        const double count = band.whole ? 1 : sizes.count(row, band.moment);
        bytes += count * static_cast<double>(column.ints[row]);
        blocks += count;
      }
      out.doubles.push_back(bytes / blocks);
    } else if (column.type == ColumnType::String) {
      out.codes.push_back(column.codes[first]);
    } else if (column.type == ColumnType::Int64) {
      std::int64_t value = column.ints[first];
      if (!band.whole && is_summed(column.name)) {
        value = 0;
        for (const std::uint32_t row : band.members)
          value += belongs_to(column.name, band.moment) ? column.ints[row] : 0;
      }
      out.ints.push_back(value);
    } else {
      double value = column.doubles[first];
      if (!band.whole && is_summed(column.name)) {
        value = 0;
        for (const std::uint32_t row : band.members)
          value += belongs_to(column.name, band.moment) ? column.doubles[row] : 0;
      }
      out.doubles.push_back(value);
    }
  }
  return out;
}

}  // namespace

Table join_sizes(const Table& table, const SizeModel* model) {
  const Sizes sizes(table);
  const std::vector<std::uint32_t> rows = by_line(sizes);
  std::vector<Band> bands;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin + 1;
    while (end < rows.size() && sizes.stack[rows[end]] == sizes.stack[rows[begin]] &&
           sizes.giver(rows[end]) == sizes.giver(rows[begin])) {
      ++end;
    }
    const std::span line(rows.data() + begin, end - begin);
    if (line.size() <= kFewSizes) {
      for (const std::uint32_t row : line) bands.push_back({.members = {row}});
    } else {
      for (Band& band : bands_of(sizes, line, model)) bands.push_back(std::move(band));
    }
    begin = end;
  }
  Table result{table.name, {}};
  for (const Column& column : table.columns) result.columns.push_back(joined(column, sizes, bands));
  return result;
}

std::vector<std::int64_t> whole_sizes(const Table& joined) {
  std::vector<std::int64_t> sizes;
  const std::vector<std::int32_t>& api = joined["api"].codes;
  const std::vector<double>& requested = joined["requested_bytes"].doubles;
  for (std::size_t row = 0; row < joined.rows(); ++row) {
    const auto bytes = static_cast<std::int64_t>(requested[row]);
    if (api[row] < kPoolBlockWord && static_cast<double>(bytes) == requested[row]) sizes.push_back(bytes);
  }
  return sizes;
}

}  // namespace tare::core
