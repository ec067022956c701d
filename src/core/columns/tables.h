// Named tables of typed columns: replay makes them, the cache stores them, and the front end loads them into SQL.
// Names, types and meanings of public tables are in schema/ (`tare schema` prints them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/model/dictionary.h"

namespace tare::core {

enum class ColumnType : std::uint8_t { Int64 = 0, Double = 1, String = 2 };

// Exactly one of `ints`, `doubles`, `codes` is filled, by `type`. Strings are dictionary-encoded: a million rows of
// site_sizes name 17 entry points, and the front end converts 17 strings instead of a million.
struct Column {
  std::string name;
  ColumnType type = ColumnType::Int64;
  std::vector<std::int64_t> ints;
  std::vector<double> doubles;
  std::vector<std::int32_t> codes;  // index into `words`
  std::vector<std::string> words;   // distinct
  std::vector<std::uint8_t> valid;  // empty: no nulls; else 1 or 0 a row (the value of a null row is 0, 0.0 or code 0)

  std::size_t size() const;
  bool is_null(std::size_t row) const { return !valid.empty() && valid[row] == 0; }
  std::string_view text(std::size_t row) const { return words[static_cast<std::size_t>(codes[row])]; }

  bool operator==(const Column&) const = default;
};

struct Table {
  std::string name;
  std::vector<Column> columns;

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  const Column* find(std::string_view column) const;        // null: no such column
  const Column& operator[](std::string_view column) const;  // aborts if missing: for columns that this version makes

  bool operator==(const Table&) const = default;
};

struct Tables {
  std::vector<Table> tables;

  const Table* find(std::string_view table) const;
  const Table& operator[](std::string_view table) const;
  void put(Table table);  // replaces the table of that name
  std::optional<Table> extract(std::string_view table);

  bool operator==(const Tables&) const = default;
};

// Fills one table row by row: every column gets one value a row.
class TableBuilder {
 public:
  using ColumnId = std::size_t;

  explicit TableBuilder(std::string name) { table_.name = std::move(name); }

  ColumnId column(std::string_view name);              // of a table in columns/schema, which has its type
  ColumnId column(std::string name, ColumnType type);  // if the table is in columns/schema, so must be the column
  // A string column whose values are a few known words, added by index: saves a look-up for each row.
  ColumnId column(std::string name, std::vector<std::string> words);
  void add_code(ColumnId column, std::int32_t code) {
    table_.columns[column].codes.push_back(code);
    mark(column, 1);
  }
  void reserve(std::size_t rows);
  void add(ColumnId column, std::int64_t value) {
    table_.columns[column].ints.push_back(value);
    mark(column, 1);
  }
  void add(ColumnId column, std::optional<std::int64_t> value);
  void add(ColumnId column, double value) {
    table_.columns[column].doubles.push_back(value);
    mark(column, 1);
  }
  void add(ColumnId column, std::string_view value);
  void add_null(ColumnId column);
  // All values of a column at once.
  void fill(ColumnId column, std::vector<std::int64_t> values) { table_.columns[column].ints = std::move(values); }
  Table take() { return std::move(table_); }

 private:
  void mark(ColumnId column, std::uint8_t valid) {
    auto& bits = table_.columns[column].valid;
    if (!bits.empty()) bits.push_back(valid);
  }
  Table table_;
  std::vector<std::unordered_map<std::string, std::int32_t>> codes_;
};

// Display names of the allocation entry points, by code: words of every `api` column. The trace's 32 codes are followed
// by those of pools, which occur in site_sizes.
std::vector<std::string> api_words();
inline constexpr std::int32_t kPoolBlockWord = 32;   // handed out by a pool
inline constexpr std::int32_t kPoolMemoryWord = 33;  // a pool's own, or left of the block that its memory lies in

// Converts unsigned sums to the signed columns of SQL: a sum that is too large becomes the largest value.
std::int64_t to_column(unsigned __int128 value);

// The dictionary as tables `stacks`, `rows`, `modules` and `given_frames` hold it, so that names can be found for
// cached tables without opening the trace. Shapes stay empty.
trace::Dictionary dictionary_of(const Tables& tables);

}  // namespace tare::core
