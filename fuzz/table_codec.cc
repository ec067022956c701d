// Fuzzes the reader of tables that a cache or a launcher left in a file: what it takes reads back as it was written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/columns/table_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tables = tare::core::decode_tables({data, size});
  if (!tables) return 0;
  for (const tare::core::Table& table : tables->tables) {
    for (const tare::core::Column& column : table.columns) {
      if (column.size() != table.rows()) std::abort();
    }
  }
  const auto again = tare::core::decode_tables(tare::core::encode_tables(*tables));
  if (!again || again->tables.size() != tables->tables.size()) std::abort();
  return 0;
}
