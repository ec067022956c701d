// The columns of an event block and the codes in them, for encoder and decoder. Part of the format: see FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/base/byte_stream.h"
#include "trace/file/event_model.h"
#include "trace/model/event.h"

namespace tare::trace {

enum class Column : std::uint8_t {
  EventCodes = 0,    // the kinds of the events: see event_code()
  SymbolValues = 1,  // varints for the symbol codes that need one
  AllocValues = 2,   // varints for the places that need one: of blocks that begin,
  FreeValues = 3,    // and of blocks that end
  StampSteps = 4,    // ticks since the stamp before; 255: a varint in StampRests adds to it
  StampRests = 5,    // varints
  MapAddresses = 6,  // varints, as AllocValues but counted from the mapping before
  Notes = 7,         // kind, api, then varints: address, shape + 1
  FreeStacks = 8,    // with BlockFlags::kFreeStacks: varints, zigzag of stack + 1 - the guess
};
inline constexpr int kColumns = 9;

// One byte for both codes of an event, as they go together: apart they took a tenth more room, and a quarter more of
// zstd's time. A realloc has two, the second without a symbol.
constexpr std::uint8_t event_code(std::uint8_t symbol_code, std::uint8_t place_code) {
  return static_cast<std::uint8_t>(symbol_code | place_code << 4);
}
constexpr std::uint8_t symbol_code_of(std::uint8_t event_code) { return event_code & 15; }
constexpr std::uint8_t place_code_of(std::uint8_t event_code) { return event_code >> 4; }

// Symbol codes below SymbolModel::kGuesses are the number of the right guess.
inline constexpr std::uint8_t kSymbolNewAlloc =
    SymbolModel::kGuesses + 0;  // Alloc of the first shape that no event block had so far
inline constexpr std::uint8_t kSymbolFree = SymbolModel::kGuesses + 1;   // FreeApi::Free
inline constexpr std::uint8_t kSymbolShape = SymbolModel::kGuesses + 2;  // value: (newest shape - shape) * 4 + ShapeUse
inline constexpr std::uint8_t kSymbolOtherFree = SymbolModel::kGuesses + 3;  // value: FreeApi
inline constexpr std::uint8_t kSymbolNote = SymbolModel::kGuesses + 4;       // see Notes

// Place codes of blocks that begin are AddressModel's; those of blocks that end, too, with the allocations since the
// block's birth in FreeValues for kFreeOther, or:
inline constexpr std::uint8_t kFreeForeign = AddressModel::kFreeOther + 1;  // value: distance from foreign_base()
inline constexpr std::uint8_t kStampEscape = 255;

enum BlockFlags : std::uint64_t { kBlockFreeStacks = 1 };

// The event after a Contents note and its digest. A note with the address 0 belongs to the block that this event ends.
inline std::size_t next_after_contents(std::span<const Event> events, std::size_t note) {
  const bool has_digest = note + 1 < events.size() && events[note + 1].kind == EventKind::Digest;
  return note + (has_digest ? 2 : 1);
}

// A distance between addresses as a varint: most are multiples of 16. Odd: the low four bits follow as a byte.
constexpr std::uint64_t distance_key(std::uint64_t from, std::uint64_t to) {
  const std::int64_t distance = static_cast<std::int64_t>(to - from);
  return zigzag(distance >> 4) << 1 | static_cast<std::uint64_t>((distance & 15) != 0);
}

}  // namespace tare::trace
