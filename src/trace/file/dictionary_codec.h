// Growth of the dictionary as records: modules, rows, stack nodes, shapes, names. Each record begins with its first id
// and follows the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/base/byte_stream.h"
#include "trace/base/expansion.h"
#include "trace/model/dictionary.h"
#include "trace/model/live_set.h"

namespace tare::trace {

// Entries of a dictionary that were written, or read, so far.
struct DictionaryCounts {
  std::size_t modules = 0;
  std::size_t rows = 0;
  std::size_t stacks = 1;  // the empty stack is never written
  std::size_t shapes = 0;
  std::size_t names = 0;
  std::size_t given_frames = 0;
  std::uint64_t unpacked_bytes = 0;  // as ExpansionBudget counts them
};

// More in one record would make a reader take more memory than it should on a file's word.
inline constexpr std::size_t kMaxRecordEntries = 1 << 20;
inline constexpr std::uint64_t kMaxUnpackedBytes = 1u << 26;  // of the entries of a record
inline constexpr std::size_t kMaxFrameText = 4000;            // of a function or a file of another profiler

// Appends a payload with entries [first, last) to `out`.
void encode_modules(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing,
                    ByteWriter& out);
void encode_rows(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing, ByteWriter& out);
void encode_stacks(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing, ByteWriter& out);
void encode_shapes(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing, ByteWriter& out);
void encode_names(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing, ByteWriter& out);
// Each text has at most kMaxFrameText bytes.
void encode_given_frames(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing,
                         ByteWriter& out);

// Append the entries of a payload to the dictionary, if `budget` has room for them. Return nullptr or the error;
// entries before the fault stay.
const char* decode_modules(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary);
const char* decode_rows(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary);
const char* decode_stacks(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary);
const char* decode_shapes(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary);
const char* decode_names(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary);
const char* decode_given_frames(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary);

// The parts of a Live record. Each payload begins with this byte; the rest is one of the above, for the set's own
// dictionary, or entries of the same kind.
enum class LivePart : std::uint8_t { Blocks = 1, Modules = 2, Rows = 3, Stacks = 4, Shapes = 5, Mappings = 6 };

void encode_live_blocks(const LiveSet& live, std::size_t first, std::size_t last, Packing packing, ByteWriter& out);
void encode_live_mappings(const LiveSet& live, std::size_t first, std::size_t last, Packing packing, ByteWriter& out);
// Appends the entries of a Live record.
const char* decode_live(std::span<const std::uint8_t> payload, ExpansionBudget& budget, LiveSet& live);

}  // namespace tare::trace
