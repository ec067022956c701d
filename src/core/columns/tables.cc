// Columns, tables and the way back from tables to a dictionary.
#include "core/columns/tables.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "core/columns/table_schema.h"
#include "trace/model/api.h"

namespace tare::core {
namespace {

[[noreturn]] void missing(const char* what, std::string_view name) {
  std::fprintf(stderr, "tare: bug: no %s '%.*s'\n", what, static_cast<int>(name.size()), name.data());
  std::abort();
}

int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
  return bytes;
}

}  // namespace

std::size_t Column::size() const {
  switch (type) {
    case ColumnType::Int64:
      return ints.size();
    case ColumnType::Double:
      return doubles.size();
    case ColumnType::String:
      return codes.size();
  }
  return 0;
}

const Column* Table::find(std::string_view column) const {
  for (const Column& c : columns) {
    if (c.name == column) return &c;
  }
  return nullptr;
}

const Column& Table::operator[](std::string_view column) const {
  const Column* found = find(column);
  if (!found) missing("column", column);
  return *found;
}

const Table* Tables::find(std::string_view table) const {
  for (const Table& t : tables) {
    if (t.name == table) return &t;
  }
  return nullptr;
}

const Table& Tables::operator[](std::string_view table) const {
  const Table* found = find(table);
  if (!found) missing("table", table);
  return *found;
}

void Tables::put(Table table) {
  for (Table& t : tables) {
    if (t.name == table.name) {
      t = std::move(table);
      return;
    }
  }
  tables.push_back(std::move(table));
}

std::optional<Table> Tables::extract(std::string_view table) {
  const auto found = std::ranges::find(tables, table, &Table::name);
  if (found == tables.end()) return std::nullopt;
  std::optional<Table> extracted = std::move(*found);
  tables.erase(found);
  return extracted;
}

TableBuilder::ColumnId TableBuilder::column(std::string_view name) {
  const TableSchema* schema = find_table_schema(table_.name);
  if (schema == nullptr) missing("table in columns/schema", table_.name);
  const ColumnSchema* known = schema->find(name);
  if (known == nullptr) missing("column in columns/schema", name);
  return column(std::string(name), known->stored_type());
}

TableBuilder::ColumnId TableBuilder::column(std::string name, ColumnType type) {
  if (const TableSchema* schema = find_table_schema(table_.name)) {
    const ColumnSchema* known = schema->find(name);
    if (known == nullptr || known->stored_type() != type) missing("column of that type in columns/schema", name);
  }
  Column column;
  column.name = std::move(name);
  column.type = type;
  table_.columns.push_back(std::move(column));
  codes_.emplace_back();
  return table_.columns.size() - 1;
}

TableBuilder::ColumnId TableBuilder::column(std::string name, std::vector<std::string> words) {
  const ColumnId id = column(std::move(name), ColumnType::String);
  table_.columns[id].words = std::move(words);
  return id;
}

void TableBuilder::reserve(std::size_t rows) {
  for (Column& column : table_.columns) {
    switch (column.type) {
      case ColumnType::Int64:
        column.ints.reserve(rows);
        break;
      case ColumnType::Double:
        column.doubles.reserve(rows);
        break;
      case ColumnType::String:
        column.codes.reserve(rows);
        break;
    }
  }
}

void TableBuilder::add(ColumnId column, std::optional<std::int64_t> value) {
  if (value) {
    add(column, *value);
  } else {
    add_null(column);
  }
}

void TableBuilder::add(ColumnId column, std::string_view value) {
  Column& c = table_.columns[column];
  const auto [it, fresh] = codes_[column].try_emplace(std::string(value), static_cast<std::int32_t>(c.words.size()));
  if (fresh) c.words.emplace_back(value);
  c.codes.push_back(it->second);
  mark(column, 1);
}

void TableBuilder::add_null(ColumnId column) {
  Column& c = table_.columns[column];
  if (c.valid.empty()) c.valid.assign(c.size(), 1);
  switch (c.type) {
    case ColumnType::Int64:
      c.ints.push_back(0);
      break;
    case ColumnType::Double:
      c.doubles.push_back(0);
      break;
    case ColumnType::String:
      if (c.words.empty()) {
        c.words.emplace_back();
        codes_[column].try_emplace(std::string(), 0);
      }
      c.codes.push_back(0);
      break;
  }
  c.valid.push_back(0);
}

std::vector<std::string> api_words() {
  constexpr int kCodes = 32;  // 5 bits in the trace
  std::vector<std::string> words;
  words.reserve(kCodes + 2);
  for (int code = 0; code < kCodes; ++code) words.emplace_back(trace::name_of(static_cast<trace::AllocApi>(code)));
  words.emplace_back("pool block");
  words.emplace_back("pool memory");
  return words;
}

std::int64_t to_column(unsigned __int128 value) {
  constexpr auto kMost = static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(value > kMost ? kMost : value);
}

trace::Dictionary dictionary_of(const Tables& tables) {
  trace::Dictionary dictionary;
  if (const Table* stacks = tables.find("stacks")) {
    const Column& caller = (*stacks)["caller_id"];
    const Column& row = (*stacks)["location_id"];
    for (std::size_t i = 0; i < stacks->rows(); ++i) {
      dictionary.stacks.push_back(
          {static_cast<trace::StackId>(caller.ints[i]), static_cast<trace::RowId>(row.ints[i])});
    }
  }
  if (const Table* rows = tables.find("locations")) {
    const Column& module = (*rows)["module_id"];
    const Column& address = (*rows)["address"];
    for (std::size_t i = 0; i < rows->rows(); ++i) {
      const auto id = module.is_null(i) ? index(trace::kNoModule) : static_cast<std::uint32_t>(module.ints[i]);
      dictionary.rows.push_back(static_cast<std::uint64_t>(address.ints[i]) | std::uint64_t{id} << 48);
    }
  }
  if (const Table* modules = tables.find("modules")) {
    for (std::size_t i = 0; i < modules->rows(); ++i) {
      trace::Module module;
      module.load_bias = static_cast<std::uint64_t>((*modules)["load_bias"].ints[i]);
      module.start = static_cast<std::uint64_t>((*modules)["start_address"].ints[i]);
      module.end = static_cast<std::uint64_t>((*modules)["end_address"].ints[i]);
      module.path = (*modules)["path"].text(i);
      module.build_id = from_hex((*modules)["build_id"].text(i));
      module.generation = static_cast<std::uint32_t>((*modules)["generation"].ints[i]);
      dictionary.modules.push_back(std::move(module));
    }
  }
  if (const Table* frames = tables.find("given_frames")) {
    for (std::size_t i = 0; i < frames->rows(); ++i) {
      dictionary.given_frames.push_back(
          {static_cast<trace::RowId>((*frames)["location_id"].ints[i]), std::string((*frames)["function"].text(i)),
           std::string((*frames)["file"].text(i)), static_cast<std::uint32_t>((*frames)["line"].ints[i])});
    }
  }
  return dictionary;
}

}  // namespace tare::core
