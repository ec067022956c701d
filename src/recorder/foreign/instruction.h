// The lengths of x86-64 instructions, as far as they are needed to move the first ones of a function elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::recorder {

enum class InstructionKind : std::uint8_t {
  Unknown,      // not in the tables: nothing may be concluded
  Plain,        // does the same anywhere
  Relative,     // refers to memory by its own address: `field` is the place of the 4-byte distance
  ShortBranch,  // conditional, with a distance of one byte
  Branch,       // conditional, with a distance of four bytes
  ShortJump,    // unconditional, with a distance of one byte
  Jump,         // unconditional, with a distance of four bytes
  Call,         // of a function at a distance of four bytes
  End,          // ret, an indirect jump, or a trap: what follows isn't reached from here
  OnlyHere,     // depends on its address in another way: loop, jrcxz, xbegin
};

struct Instruction {
  InstructionKind kind = InstructionKind::Unknown;
  std::uint8_t length = 0;
  std::uint8_t field = 0;  // the place of the distance in a relative one, a branch, jump or call
};

// The instruction at `code`, of which `bytes` may be read. Unknown if it is longer.
Instruction decode_instruction(const std::uint8_t* code, std::size_t bytes);

// Where a branch, jump or call at `code` leads, and to what address a relative one refers.
inline std::uint64_t target_of(const std::uint8_t* code, const Instruction& instruction) {
  const bool is_short = instruction.kind == InstructionKind::ShortBranch ||
                        instruction.kind == InstructionKind::ShortJump || instruction.kind == InstructionKind::OnlyHere;
  std::int32_t distance = 0;
  if (is_short)
    distance = (code[instruction.field] ^ 0x80) - 0x80;  // its sign extended
  else
    __builtin_memcpy(&distance, code + instruction.field, sizeof distance);
  return reinterpret_cast<std::uint64_t>(code) + instruction.length +
         static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace tare::recorder
