// The tables of a recording with their columns: names, types and meanings. schema/*.def is the only list: the core
// makes its columns from it, and `tare schema`, docs/tables.md and the SQL tables are made from it too.
//
//   TARE_TABLE(name, pass, "meaning of a row", "note",
//     TARE_COLUMN(name, type, "meaning, unit"))
//
// `pass`: MainWalk, or OwnWalk for a table that needs another walk over the trace, when it is first used.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/columns/tables.h"

namespace tare::core {

enum class SchemaType : std::uint8_t {
  Int,
  Real,
  Text,
  Weighed,      // a count of recorded blocks, stored as such; readers get it multiplied by the row's weight
  WeighedReal,  // a sum over recorded blocks, likewise
};

enum class TablePass : std::uint8_t { MainWalk, OwnWalk };

struct ColumnSchema {
  std::string_view name;
  SchemaType type;
  std::string_view meaning;

  bool is_weighed() const { return type == SchemaType::Weighed || type == SchemaType::WeighedReal; }
  ColumnType stored_type() const;
};

struct TableSchema {
  std::string_view name;
  TablePass pass;
  std::string_view row;
  std::string_view note;
  std::vector<ColumnSchema> columns;

  const ColumnSchema* find(std::string_view column) const;  // null: no such column
};

const std::vector<TableSchema>& table_schemas();
const TableSchema* find_table_schema(std::string_view name);  // null: the table is internal

// Another number for another list of tables, columns or types; their meanings don't count. Caches of tables have it.
std::uint64_t form_of(const std::vector<TableSchema>& tables);

// The table for readers: weighed columns are multiplied by the row's weight. The only place that applies weights to a
// table; `table` itself if all weights are 1.
std::shared_ptr<const Table> weighed(std::shared_ptr<const Table> table);

}  // namespace tare::core
