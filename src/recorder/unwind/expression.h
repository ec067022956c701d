// DWARF expressions in unwind tables: evaluated over registers, or recognised as one of the compact rules.
#pragma once

#include <cstdint>

#include "recorder/unwind/cfi.h"

namespace tare::recorder {

struct Registers {
  std::uint64_t value[kRegisters];  // by DWARF number; value[kPc] is a return address, or the interrupted pc + 1
};

// Reads a word of stack if that can't fault.
struct StackReader {
  bool (*read)(void* context, std::uint64_t address, std::uint64_t& value);
  void* context;
};

// `pushed`: the initial stack of the expression (the CFA for register rules); null: empty.
bool evaluate(const Expression& expression, const Registers& registers, const StackReader& reader,
              const std::uint64_t* pushed, std::uint64_t& result);

// An expression that needs no memory: a constant offset from a register, or from the word at a register.
struct Shape {
  enum class Kind : std::uint8_t {
    Other,
    Constant,
    Sp,
    Bp,
    AtSp,
    AtBp
  };  // At*: the word in memory at register + offset
  Kind kind = Kind::Other;
  std::int64_t offset = 0;
};
// `pc`: the exact address within the function (the expressions of PLT entries depend on it).
Shape shape_of(const Expression& expression, std::uint64_t pc);

}  // namespace tare::recorder
