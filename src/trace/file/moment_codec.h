// Moments as bytes: the payload of Moment records. FORMAT.md describes it in prose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/base/byte_stream.h"
#include "trace/base/expansion.h"
#include "trace/model/moment.h"

namespace tare::trace {

// A moment with more blocks takes several records, one after the other.
inline constexpr std::size_t kMaxRecordObservations = 1 << 20;

// Blocks [first, first + kMaxRecordObservations) of the moment, with its facts.
void encode_moment(const Moment& moment, std::size_t first, Packing packing, ByteWriter& out);

// Adds the record's blocks to the limit of memory. False: too much, or the record can't be read.
bool take_moment(std::span<const std::uint8_t> payload, ExpansionBudget& budget);

// Adds a record to the moments read so far: a new moment, or more blocks of the last one. `shapes` is the number of
// known shapes. Returns nullptr or the error; then `moments` is unchanged.
const char* decode_moment(std::span<const std::uint8_t> payload, std::size_t shapes, ExpansionBudget& budget,
                          std::vector<Moment>& moments);

}  // namespace tare::trace
