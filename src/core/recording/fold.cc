// One pass over site_sizes with a hash of (line, sizes, weight); a compiler's 245,000 shapes become 30,000.
#include "core/recording/fold.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/recording/shape_groups.h"
#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"

namespace tare::core {
namespace {

constexpr std::int64_t kNoLine = -1;  // stacks without frames share one line

// Which line a stack is named by, and which stack and site stand for a line.
class Lines {
 public:
  explicit Lines(const Tables& sites) {
    const Table& site = sites["sites"];
    const Column& row = site["site_location_id"];
    for (std::size_t i = 0; i < site.rows(); ++i) {
      line_of_site_.push_back(row.is_null(i) ? kNoLine : row.ints[i]);
      stack_of_site_.push_back(site["stack_id"].ints[i]);
    }
    const Table& stacks = sites["stack_sites"];
    const std::vector<std::int64_t>& stack_ids = stacks["stack_id"].ints;
    const std::vector<std::int64_t>& site_ids = stacks["site_id"].ints;
    for (std::size_t i = 0; i < stacks.rows(); ++i) {
      const auto stack = static_cast<std::size_t>(stack_ids[i]);
      if (stack >= site_of_stack_.size()) site_of_stack_.resize(stack + 1, 0);
      site_of_stack_[stack] = site_ids[i];
    }
  }

  std::int64_t site_of(std::int64_t stack) const { return site_of_stack_[static_cast<std::size_t>(stack)]; }
  std::int64_t line_of(std::int64_t stack) const { return line_of_site_[static_cast<std::size_t>(site_of(stack))]; }
  std::size_t sites() const { return stack_of_site_.size(); }
  std::int64_t first_stack(std::int64_t site) const { return stack_of_site_[static_cast<std::size_t>(site)]; }

 private:
  std::vector<std::int64_t> line_of_site_;
  std::vector<std::int64_t> stack_of_site_;
  std::vector<std::int64_t> site_of_stack_;
};

// By line: the site that holds most.
std::unordered_map<std::int64_t, std::int64_t> heaviest_sites(const Table& sizes, const Lines& lines) {
  std::vector<double> bytes(lines.sites());  // by site
  const std::vector<std::int64_t>& stacks = sizes["stack_id"].ints;
  const std::vector<std::int64_t>& usable = sizes["usable_bytes"].ints;
  const std::vector<std::int64_t>& header = sizes["header_bytes"].ints;
  const std::vector<std::int64_t>& at_peak = sizes["peak_blocks"].ints;
  const std::vector<std::int64_t>& in_all = sizes["total_blocks"].ints;
  const std::vector<double>& weights = sizes["weight"].doubles;
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    bytes[static_cast<std::size_t>(lines.site_of(stacks[row]))] +=
        static_cast<double>(usable[row] + header[row]) * weights[row] *
        (static_cast<double>(at_peak[row]) + 1e-6 * static_cast<double>(in_all[row]));
  }
  const auto bytes_of = [&](std::int64_t site) { return bytes[static_cast<std::size_t>(site)]; };
  std::unordered_map<std::int64_t, std::int64_t> heaviest;  // by line
  for (const std::int64_t stack : stacks) {
    const std::int64_t site = lines.site_of(stack);
    const auto [known, fresh] = heaviest.try_emplace(lines.line_of(stack), site);
    if (!fresh && bytes_of(site) > bytes_of(known->second)) known->second = site;
  }
  return heaviest;
}

// A table by stack. A line may grow blocks that site_sizes doesn't name (all of them grew on elsewhere): it keeps a
// stack of its own.
Table fold_stacks(Table table, const Lines& lines, std::unordered_map<std::int64_t, std::int64_t>& heaviest) {
  for (Column& column : table.columns) {
    if (column.name != "stack_id") continue;
    for (std::int64_t& stack : column.ints) {
      const auto known = heaviest.try_emplace(lines.line_of(stack), lines.site_of(stack)).first;
      stack = lines.first_stack(known->second);
    }
  }
  return table;
}

// Columns that have the maximum over their rows; maxima that identify a row don't add up, all others do.
constexpr std::string_view kMaxPrefix = "max_";

bool is_of_chief(const Column& column) {
  return column.type == ColumnType::String || column.name.ends_with("_id") || column.name == "digest" ||
         column.name == "requested_bytes";
}

// A table with a row a stack or more, its rows of one line made one: a compiler's 16,000 timed calls are 500 then,
// which a summary reads in 0.4 ms instead of 8. Columns that don't add up get the value of the row with the greatest
// `ranked_by`.
Table fold_rows_of_stacks(const Table& table, const Lines& lines,
                          std::unordered_map<std::int64_t, std::int64_t>& heaviest, std::string_view ranked_by) {
  const Table stacks = fold_stacks(table, lines, heaviest);
  std::unordered_map<std::int64_t, std::uint32_t> row_of;  // by stack
  std::vector<std::uint32_t> to;                           // by row of the table
  std::vector<std::uint32_t> chief;                        // by row of the result
  const std::vector<double>& rank = stacks[ranked_by].doubles;
  to.reserve(stacks.rows());
  for (const std::int64_t stack : stacks["stack_id"].ints) {
    const auto row = static_cast<std::uint32_t>(to.size());
    const auto [known, fresh] = row_of.try_emplace(stack, static_cast<std::uint32_t>(chief.size()));
    if (fresh) chief.push_back(row);
    if (rank[row] > rank[chief[known->second]]) chief[known->second] = row;
    to.push_back(known->second);
  }
  Table folded{table.name, {}};
  for (const Column& column : stacks.columns) {
    Column out;
    out.name = column.name;
    out.type = column.type;
    out.words = column.words;
    const bool is_most = column.name.starts_with(kMaxPrefix);
    const auto put = [&](auto& values, const auto& from) {
      if (is_of_chief(column)) {
        for (const std::uint32_t row : chief) values.push_back(from[row]);
        return;
      }
      values.resize(chief.size());
      for (std::size_t row = 0; row < to.size(); ++row) {
        auto& value = values[to[row]];
        value = is_most ? std::max(value, from[row]) : value + from[row];
      }
    };
    switch (column.type) {
      case ColumnType::Int64:
        put(out.ints, column.ints);
        break;
      case ColumnType::Double:
        put(out.doubles, column.doubles);
        break;
      case ColumnType::String:
        put(out.codes, column.codes);
        break;
    }
    folded.columns.push_back(std::move(out));
  }
  return folded;
}

// How several values of a column of `written` become one.
enum class Join : std::uint8_t { First, Greatest, Sum };

Join join_of(std::string_view column) {
  if (column == "max_high_water_bytes") return Join::Greatest;
  const bool is_of_all = column.ends_with("_id") || column == "requested_bytes" || column.starts_with("site_");
  return is_of_all ? Join::First : Join::Sum;
}

// Sums by shape and stack, renumbered to folded ones. Rows of one folded shape are merged if lenses treat them alike:
// if their sites are alike, and either both have a mark or neither. A program with a million shapes has a row for each
// otherwise, of 20 columns that a summary reads.
Table fold_written(const Table& table, const Table& sizes, const Groups& groups, const Lines& lines,
                   std::unordered_map<std::int64_t, std::int64_t>& heaviest) {
  std::vector<std::uint32_t> shape_of;  // folded, by shape
  const std::vector<std::int64_t>& shapes = sizes["size_id"].ints;
  for (std::size_t row = 0; row < shapes.size(); ++row) {
    const auto shape = static_cast<std::size_t>(shapes[row]);
    if (shape >= shape_of.size()) shape_of.resize(std::max(shape + 1, 2 * shape_of.size()));
    shape_of[shape] = groups.group_of[row];
  }
  const std::vector<std::int64_t>& own_shapes = table["size_id"].ints;
  const std::vector<double>& blocks = table["site_blocks"].doubles;
  const std::vector<double>& narrow = table["site_narrow_blocks"].doubles;
  const std::vector<std::int64_t>& site_marks = table["site_high_water_bytes"].ints;
  const std::vector<std::int64_t>& smallest = table["site_requested_bytes"].ints;
  const std::vector<std::int64_t>& marks = table["max_high_water_bytes"].ints;
  const auto folded_shape = [&](std::size_t row) { return shape_of.at(static_cast<std::size_t>(own_shapes[row])); };
  const auto same = [&](std::size_t a, std::size_t b) {
    return folded_shape(a) == folded_shape(b) && blocks[a] == blocks[b] && site_marks[a] == site_marks[b] &&
           narrow[a] == narrow[b] && smallest[a] == smallest[b] && (marks[a] == 0) == (marks[b] == 0);
  };
  trace::IdTable known;
  std::vector<std::uint32_t> to;  // by row
  std::vector<std::uint32_t> first;
  to.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::uint64_t hash = trace::mix_hash(folded_shape(row), std::bit_cast<std::uint64_t>(blocks[row]));
    hash = trace::mix_hash(hash, static_cast<std::uint64_t>(site_marks[row]) * 2 + (marks[row] == 0 ? 1 : 0));
    to.push_back(known.find_or_make(
        trace::mix_hash(hash, static_cast<std::uint64_t>(smallest[row])),
        [&](std::uint32_t other) { return same(first[other], row); },
        [&] {
          first.push_back(static_cast<std::uint32_t>(row));
          return static_cast<std::uint32_t>(first.size() - 1);
        }));
  }
  Table folded{table.name, {}};
  for (const Column& column : table.columns) {
    Column out;
    out.name = column.name;
    out.type = column.type;
    const auto put = [&](auto& values, const auto& from) {
      for (const std::uint32_t row : first) values.push_back(from[row]);
      const Join join = join_of(column.name);
      for (std::size_t row = 0; row < to.size() && join != Join::First; ++row) {
        auto& value = values[to[row]];
        if (join == Join::Greatest) {
          value = std::max(value, from[row]);
        } else if (first[to[row]] != row) {
          value += from[row];
        }
      }
    };
    column.type == ColumnType::Int64 ? put(out.ints, column.ints) : put(out.doubles, column.doubles);
    if (column.name == "size_id") {
      for (std::size_t row = 0; row < first.size(); ++row) out.ints[row] = std::int64_t{folded_shape(first[row])};
    }
    folded.columns.push_back(std::move(out));
  }
  return fold_stacks(std::move(folded), lines, heaviest);
}

// Of peak_contents: sums by folded shape and class.
Table fold_contents(const Table& table, const Table& sizes, const Groups& groups, const Lines& lines,
                    std::unordered_map<std::int64_t, std::int64_t>& heaviest) {
  std::unordered_map<std::int64_t, std::uint32_t> shape_of;
  for (std::size_t row = 0; row < sizes.rows(); ++row)
    shape_of.emplace(sizes["size_id"].ints[row], groups.group_of[row]);
  std::unordered_map<std::uint64_t, std::size_t> row_of;  // by folded shape and class
  Table folded{table.name, {}};
  std::vector<std::size_t> to;
  std::vector<std::size_t> first;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::uint64_t key = std::uint64_t{shape_of.at(table["size_id"].ints[row])} * 4 +
                              static_cast<std::uint64_t>(table["content_class"].codes[row]);
    const auto [known, fresh] = row_of.try_emplace(key, first.size());
    if (fresh) first.push_back(row);
    to.push_back(known->second);
  }
  for (const Column& column : table.columns) {
    Column out;
    out.name = column.name;
    out.type = column.type;
    out.words = column.words;
    for (const std::size_t row : first) {
      if (column.name == "size_id")
        out.ints.push_back(std::int64_t{shape_of.at(column.ints[row])});
      else if (column.type == ColumnType::Int64)
        out.ints.push_back(column.ints[row]);
      if (column.type == ColumnType::String) out.codes.push_back(column.codes[row]);
    }
    if (column.type == ColumnType::Double) {
      out.doubles.resize(first.size());
      for (std::size_t row = 0; row < to.size(); ++row) out.doubles[to[row]] += column.doubles[row];
    }
    folded.columns.push_back(std::move(out));
  }
  return fold_stacks(std::move(folded), lines, heaviest);
}

}  // namespace

Tables fold_by_line(const Tables& replayed, const Tables& sites) {
  const Lines lines(sites);
  const Table& sizes = replayed["site_sizes"];
  std::unordered_map<std::int64_t, std::int64_t> heaviest = heaviest_sites(sizes, lines);
  Tables folded;
  const std::vector<std::int64_t>& stacks = sizes["stack_id"].ints;
  const Groups groups = group_rows(sizes, [&](std::size_t row) { return lines.line_of(stacks[row]); });
  folded.put(fold_stacks(replayed["growth"], lines, heaviest));
  if (const Table* table = replayed.find("recreated"))
    folded.put(fold_rows_of_stacks(*table, lines, heaviest, "max_times"));
  if (const Table* table = replayed.find("call_costs"))
    folded.put(fold_rows_of_stacks(*table, lines, heaviest, "max_ns"));
  if (const Table* table = replayed.find("mappings"))
    folded.put(fold_rows_of_stacks(*table, lines, heaviest, "max_bytes"));
  if (const Table* table = replayed.find("failed_requests")) folded.put(fold_stacks(*table, lines, heaviest));
  if (const Table* written = sites.find("written")) folded.put(fold_written(*written, sizes, groups, lines, heaviest));
  if (const Table* table = replayed.find("peak_contents"))
    folded.put(fold_contents(*table, sizes, groups, lines, heaviest));
  folded.put(fold_sizes(sizes, groups,
                        [&](std::int64_t stack) { return lines.first_stack(heaviest.at(lines.line_of(stack))); }));
  TableBuilder shapes("folded_shapes");
  const auto shape = shapes.column("size_id", ColumnType::Int64);
  const auto line_shape = shapes.column("line_size_id", ColumnType::Int64);
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    shapes.add(shape, sizes["size_id"].ints[row]);
    shapes.add(line_shape, static_cast<std::int64_t>(groups.group_of[row]));
  }
  folded.put(shapes.take());
  TableBuilder site_table("sites");
  const auto site_id = site_table.column("site_id");
  const auto site_stack = site_table.column("stack_id");
  const auto site_row = site_table.column("site_location_id");
  TableBuilder stack_table("stack_sites");
  const auto stack = stack_table.column("stack_id");
  const auto stack_site = stack_table.column("site_id");
  for (const auto& [line, site] : heaviest) {
    site_table.add(site_id, site);
    site_table.add(site_stack, lines.first_stack(site));
    site_table.add(site_row, line == kNoLine ? std::nullopt : std::optional<std::int64_t>(line));
    stack_table.add(stack, lines.first_stack(site));
    stack_table.add(stack_site, site);
  }
  folded.put(site_table.take());
  folded.put(stack_table.take());
  return folded;
}

namespace {

constexpr std::pair<const char*, const char*> kShapeColumns[] = {
    {"size_id", "stack_id"}, {"first_size_id", "first_stack_id"}, {"second_size_id", "second_stack_id"}};

// Null where the table has none.
Column* column_of(Table& table, std::string_view name) {
  const auto found =
      std::find_if(table.columns.begin(), table.columns.end(), [&](const Column& one) { return one.name == name; });
  return found == table.columns.end() ? nullptr : &*found;
}

}  // namespace

void put_line_shapes(const Table& folded_shapes, const Table& folded_sizes, Tables& tables) {
  std::unordered_map<std::int64_t, std::int64_t> line_shape;
  const std::vector<std::int64_t>& shapes = folded_shapes["size_id"].ints;
  for (std::size_t row = 0; row < shapes.size(); ++row) {
    line_shape.emplace(shapes[row], folded_shapes["line_size_id"].ints[row]);
  }
  for (Table& table : tables.tables) {
    for (const auto& [size_id, stack_id] : kShapeColumns) {
      Column* const shape = column_of(table, size_id);
      Column* const stack = column_of(table, stack_id);
      if (shape == nullptr || stack == nullptr) continue;
      for (std::size_t row = 0; row < shape->ints.size(); ++row) {
        const auto known = line_shape.find(shape->ints[row]);
        if (known == line_shape.end()) continue;  // a shape without events: damage
        shape->ints[row] = known->second;
        stack->ints[row] = folded_sizes["stack_id"].ints[static_cast<std::size_t>(known->second)];
      }
    }
  }
}

}  // namespace tare::core
