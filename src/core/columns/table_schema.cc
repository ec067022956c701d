// Includes the list of tables: see table_schema.h.
#include "core/columns/table_schema.h"

#include <algorithm>
#include <string>

#include "trace/base/checksum.h"

namespace tare::core {

ColumnType ColumnSchema::stored_type() const {
  switch (type) {
    case SchemaType::Int:
    case SchemaType::Weighed:
      return ColumnType::Int64;
    case SchemaType::Real:
    case SchemaType::WeighedReal:
      return ColumnType::Double;
    case SchemaType::Text:
      break;
  }
  return ColumnType::String;
}

const ColumnSchema* TableSchema::find(std::string_view column) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](auto& each) { return each.name == column; });
  return found == columns.end() ? nullptr : &*found;
}

const std::vector<TableSchema>& table_schemas() {
#define TARE_COLUMN(name, type, meaning) {#name, SchemaType::type, meaning},
#define TARE_TABLE(name, pass, row, note, ...) {#name, TablePass::pass, row, note, {__VA_ARGS__}},
  static const std::vector<TableSchema> all = {
#include "core/columns/schema/blocks.def"
#include "core/columns/schema/kinds.def"
#include "core/columns/schema/pools.def"
#include "core/columns/schema/process.def"
#include "core/columns/schema/reports.def"
#include "core/columns/schema/snapshots.def"
#include "core/columns/schema/stacks.def"
  };
#undef TARE_TABLE
#undef TARE_COLUMN
  return all;
}

const TableSchema* find_table_schema(std::string_view name) {
  const auto& all = table_schemas();
  const auto found = std::find_if(all.begin(), all.end(), [&](const TableSchema& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::uint64_t form_of(const std::vector<TableSchema>& tables) {
  std::string all;
  for (const TableSchema& table : tables) {
    all += table.name;
    for (const ColumnSchema& column : table.columns) {
      all += '\n';
      all += static_cast<char>(column.type);
      all += column.name;
    }
    all += "\n\n";
  }
  return trace::xxh64({reinterpret_cast<const std::uint8_t*>(all.data()), all.size()}, tables.size());
}

std::shared_ptr<const Table> weighed(std::shared_ptr<const Table> table) {
  const TableSchema* schema = find_table_schema(table->name);
  const Column* weight = table->find("weight");
  if (schema == nullptr || weight == nullptr) return table;
  const std::vector<double>& weights = weight->doubles;
  if (std::all_of(weights.begin(), weights.end(), [](double each) { return each == 1; })) return table;
  auto result = std::make_shared<Table>(*table);
  for (Column& column : result->columns) {
    const ColumnSchema* known = schema->find(column.name);
    if (known == nullptr || !known->is_weighed()) continue;
    if (column.type == ColumnType::Int64) {
      column.doubles.assign(column.ints.begin(), column.ints.end());
      column.ints.clear();
      column.type = ColumnType::Double;
    }
    for (std::size_t row = 0; row < weights.size(); ++row) column.doubles[row] *= weights[row];
  }
  return result;
}

}  // namespace tare::core
