// The rules by which a frame of another process is left: read from the tables of its objects (.eh_frame) in its memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>

#include "core/injection/loaded_objects.h"

namespace tare::core {

// Registers by their numbers in the tables; the last is the return address.
constexpr int kUnwindRegisters = 17;
constexpr int kStackPointer = 7;
constexpr int kReturnAddress = 16;

struct UnwindRule {
  // AtAddress: at a register plus an offset, as compilers write it for stacks that they align. Unknown: any other
  // expression.
  enum Kind : std::uint8_t { Same, Undefined, AtOffset, AtAddress, InRegister, Unknown } kind = Same;
  std::int64_t value = 0;  // an offset (of AtOffset: to the frame's address), or the number of a register
  std::uint64_t base = 0;  // of AtAddress: the number of the register
};

struct UnwindRow {
  std::uint64_t frame_register = kStackPointer;
  std::int64_t frame_offset = 8;
  // Sum: the frame's address is the register plus the offset. Stored: it lies at that address. Unknown: an expression.
  enum Kind : std::uint8_t { Sum, Stored, Unknown } kind = Sum;
  std::array<UnwindRule, kUnwindRegisters> rules;
};

struct FoundRow {
  // NoEntry: no rules cover the address, as in generated code. Unknown: the tables have another form, or are damaged.
  enum class Kind : std::uint8_t { Found, NoEntry, Unknown } kind = Kind::Unknown;
  std::uint64_t function = 0;  // the first address that the same entry covers
  UnwindRow row;
};

FoundRow find_unwind_row(pid_t pid, const LoadedObject& object, std::uint64_t address);

}  // namespace tare::core
