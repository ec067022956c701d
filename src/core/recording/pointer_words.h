// Table `pointer_words`: the pointers into the heap in live blocks, and the size of the blocks with 4-byte pointers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/columns/tables.h"
#include "tare/size_classes.h"

namespace tare::core {

// A row for each snapshot and shape of `snapshot_blocks`, without blocks whose words weren't read.
// columns/schema/snapshots.def has the meanings of the columns.
// Source of the idea: "Pointer compression in Oilpan" (seed 002): half of the words gives a third of the memory back,
// because padding and size classes take their part.
Table pointer_words_table(const Table& snapshot_blocks, const SizeModel* model);

// Pointers that a type of `requested_bytes` has room for. Up to 512 bytes the blocks of a shape are taken to be of one
// type, which has as many as the fullest of them: a null at the moment is a field, too. Larger ones are tables and
// pools, each filled in its own way: their mean, rounded down.
constexpr std::int64_t pointer_fields(std::int64_t requested_bytes, std::int64_t most, double mean) {
  return requested_bytes <= 512 ? most : static_cast<std::int64_t>(mean);
}

// With 4 bytes for each of `fields` words. The remainder keeps an alignment of 8, unless it is empty. Never more than
// before.
constexpr std::int64_t packed_bytes(std::int64_t requested_bytes, std::int64_t fields) {
  const std::int64_t packed = requested_bytes - 4 * fields;
  return requested_bytes == 8 * fields ? packed : std::min(requested_bytes, (packed + 7) / 8 * 8);
}

}  // namespace tare::core
