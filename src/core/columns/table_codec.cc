// Layout, all integers little-endian (varint: LEB128):
//   tables   = count:varint table*
//   table    = name:text rows:varint count:varint column*
//   column   = name:text type:byte nullable:byte [valid:rows bytes] values
//   values   = integers                               Int64
//            | kind:byte (rows f64 if 0, one if 1, integers if 2) Double
//            | count:varint text* integers             String: words, then codes
//   integers = base:fixed64 width:byte (value - base: width bytes)*rows      width 0, 1, 2, 4 or 8
#include "core/columns/table_codec.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "trace/base/byte_stream.h"

namespace tare::core {
namespace {

using trace::ByteReader;
using trace::ByteWriter;

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in memory");

template <typename Narrow, typename Wide>
void put_narrow(ByteWriter& out, const std::vector<Wide>& values, std::uint64_t base) {
  std::vector<std::uint8_t>& bytes = out.bytes();
  const std::size_t at = bytes.size();
  bytes.resize(at + values.size() * sizeof(Narrow));
  std::uint8_t* to = bytes.data() + at;
  for (Wide value : values) {
    const auto narrow = static_cast<Narrow>(static_cast<std::uint64_t>(std::int64_t{value}) - base);
    std::memcpy(to, &narrow, sizeof narrow);
    to += sizeof narrow;
  }
}

template <typename Int>
void put_integers(ByteWriter& out, const std::vector<Int>& values) {
  std::uint64_t base = 0;
  std::uint64_t range = 0;
  if (!values.empty()) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    base = static_cast<std::uint64_t>(std::int64_t{*least});
    range = static_cast<std::uint64_t>(std::int64_t{*most}) - base;
  }
  out.fixed64(base);
  if (range == 0) {
    out.byte(0);
  } else if (range < 1u << 8) {
    out.byte(1);
    put_narrow<std::uint8_t>(out, values, base);
  } else if (range < 1u << 16) {
    out.byte(2);
    put_narrow<std::uint16_t>(out, values, base);
  } else if (range < std::uint64_t{1} << 32) {
    out.byte(4);
    put_narrow<std::uint32_t>(out, values, base);
  } else {
    out.byte(8);
    put_narrow<std::uint64_t>(out, values, base);
  }
}

enum class Doubles : std::uint8_t { AsTheyAre = 0, Constant = 1, Whole = 2 };

bool is_same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// Counts that a sample may weigh, of a recording that isn't one: two bytes instead of eight.
bool is_whole(double value) {
  constexpr double kMost = 9007199254740992.0;  // 2^53
  return value > -kMost && value < kMost && is_same(static_cast<double>(static_cast<std::int64_t>(value)), value);
}

void put_doubles(ByteWriter& out, const std::vector<double>& values) {
  const bool constant = !values.empty() && std::all_of(values.begin(), values.end(),
                                                       [&](double value) { return is_same(value, values.front()); });
  if (!constant && std::all_of(values.begin(), values.end(), is_whole)) {
    out.byte(static_cast<std::uint8_t>(Doubles::Whole));
    return put_integers(out, std::vector<std::int64_t>(values.begin(), values.end()));
  }
  out.byte(static_cast<std::uint8_t>(constant ? Doubles::Constant : Doubles::AsTheyAre));
  const std::size_t count = constant ? 1 : values.size();
  out.append({reinterpret_cast<const std::uint8_t*>(values.data()), count * sizeof(double)});
}

template <typename Narrow, typename Number>
bool get_narrow(ByteReader& in, std::size_t rows, std::uint64_t base, std::vector<Number>& values) {
  const auto bytes = in.take(rows * sizeof(Narrow));
  if (in.failed()) return false;
  values.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    Narrow narrow;
    std::memcpy(&narrow, bytes.data() + i * sizeof narrow, sizeof narrow);
    values[i] = static_cast<Number>(static_cast<std::int64_t>(base + narrow));
  }
  return true;
}

// Doubles that are whole numbers are stored as integers.
template <typename Number>
bool get_integers(ByteReader& in, std::size_t rows, std::vector<Number>& values) {
  const std::uint64_t base = in.fixed64();
  switch (in.byte()) {
    case 0:
      values.assign(rows, static_cast<Number>(static_cast<std::int64_t>(base)));
      return !in.failed();
    case 1:
      return get_narrow<std::uint8_t>(in, rows, base, values);
    case 2:
      return get_narrow<std::uint16_t>(in, rows, base, values);
    case 4:
      return get_narrow<std::uint32_t>(in, rows, base, values);
    case 8:
      return get_narrow<std::uint64_t>(in, rows, base, values);
    default:
      return false;
  }
}

bool get_doubles(ByteReader& in, std::size_t rows, std::vector<double>& values) {
  const std::uint8_t kind = in.byte();
  if (kind > static_cast<std::uint8_t>(Doubles::Whole)) return false;
  if (kind == static_cast<std::uint8_t>(Doubles::Whole)) return get_integers(in, rows, values);
  const bool constant = kind == static_cast<std::uint8_t>(Doubles::Constant);
  const auto bytes = in.take((constant ? 1 : rows) * sizeof(double));
  if (in.failed()) return false;
  if (constant) {
    double value;
    std::memcpy(&value, bytes.data(), sizeof value);
    values.assign(rows, value);
  } else {
    values.resize(rows);
    if (rows > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return true;
}

bool get_strings(ByteReader& in, std::size_t rows, Column& column) {
  const std::uint64_t words = in.varint();
  for (std::uint64_t i = 0; i < words && !in.failed(); ++i) column.words.push_back(in.text());
  if (in.failed() || !get_integers(in, rows, column.codes)) return false;
  const auto fits = [&](std::int32_t code) {
    return code >= 0 && static_cast<std::size_t>(code) < column.words.size();
  };
  return std::all_of(column.codes.begin(), column.codes.end(), fits);
}

bool get_column(ByteReader& in, std::size_t rows, Column& column) {
  column.name = in.text();
  const std::uint8_t type = in.byte();
  const std::uint8_t nullable = in.byte();
  if (in.failed() || type > static_cast<std::uint8_t>(ColumnType::String) || nullable > 1) return false;
  column.type = static_cast<ColumnType>(type);
  if (nullable) {
    const auto valid = in.take(rows);
    column.valid.assign(valid.begin(), valid.end());
    if (in.failed() || std::any_of(valid.begin(), valid.end(), [](std::uint8_t bit) { return bit > 1; })) return false;
  }
  switch (column.type) {
    case ColumnType::Int64:
      return get_integers(in, rows, column.ints);
    case ColumnType::Double:
      return get_doubles(in, rows, column.doubles);
    case ColumnType::String:
      return get_strings(in, rows, column);
  }
  return false;
}

}  // namespace

std::vector<std::uint8_t> encode_tables(const Tables& tables) {
  ByteWriter out;
  std::size_t cells = 0;
  for (const Table& table : tables.tables) cells += table.rows() * table.columns.size();
  out.bytes().reserve(cells * 6);  // the size of a compiler's tables: growing by doubling would touch twice the pages
  out.varint(tables.tables.size());
  for (const Table& table : tables.tables) {
    out.text(table.name);
    out.varint(table.rows());
    out.varint(table.columns.size());
    for (const Column& column : table.columns) {
      out.text(column.name);
      out.byte(static_cast<std::uint8_t>(column.type));
      out.byte(column.valid.empty() ? 0 : 1);
      out.append(column.valid);
      switch (column.type) {
        case ColumnType::Int64:
          put_integers(out, column.ints);
          break;
        case ColumnType::Double:
          put_doubles(out, column.doubles);
          break;
        case ColumnType::String:
          out.varint(column.words.size());
          for (const std::string& word : column.words) out.text(word);
          put_integers(out, column.codes);
          break;
      }
    }
  }
  return std::move(out.bytes());
}

std::optional<Tables> decode_tables(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  Tables tables;
  // A column of equal values takes no bytes a row, so that rows alone don't bound memory. But every table that replay
  // makes has ids that differ, and fewer than 32 columns.
  std::uint64_t cells_left = bytes.size() * 32;
  const std::uint64_t count = in.varint();
  for (std::uint64_t t = 0; t < count; ++t) {
    Table table;
    table.name = in.text();
    const std::uint64_t rows = in.varint();
    const std::uint64_t columns = in.varint();
    if (in.failed() || columns > bytes.size() || (columns > 0 && rows > cells_left / columns)) return std::nullopt;
    cells_left -= rows * columns;
    for (std::uint64_t c = 0; c < columns; ++c) {
      Column column;
      if (!get_column(in, rows, column)) return std::nullopt;
      table.columns.push_back(std::move(column));
    }
    tables.tables.push_back(std::move(table));
  }
  if (in.failed() || !in.at_end()) return std::nullopt;
  return tables;
}

}  // namespace tare::core
