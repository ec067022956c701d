// Table `pointer_words`: the pointers into the heap in live blocks, and the size of the blocks with 4-byte pointers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/columns/tables.h"
#include "tare/size_classes.h"

namespace tare::core {

// A row for each snapshot and shape of `moment_blocks` (without blocks whose words weren't read). Columns, in bytes of
// one block unless they are plural:
//   moment, shape_id, stack_id, requested_bytes
//   blocks            blocks that were looked at; multiplied by their weight, as are the sums
//   words             8-byte words in them
//   start_pointers    words that hold the first address of a live block
//   interior_pointers words that hold an address inside one
//   most_pointers     of both, in the block that has most
//   fields            pointers a block is taken to have room for, see pointer_fields()
//   packed_bytes      what would be requested with 4 bytes for each of those, padded
//   packed_gross_bytes what that takes with its header, by the allocator's model; null without a model
// Source of the idea: "Pointer compression in Oilpan" (seed 002): half of the words gives a third of the memory back,
// because padding and size classes take their part.
Table pointer_words_table(const Table& moment_blocks, const SizeModel* model);

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
