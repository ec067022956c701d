// Relocates branches and references by distance: see displace.h.
#include "recorder/foreign/displace.h"

#include <cstring>

#include "recorder/base/address.h"
#include "recorder/foreign/instruction.h"

namespace tare::recorder {
namespace {

constexpr std::uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

bool put_distance(std::uint8_t* out, std::uint64_t end_address, std::uint64_t target) {
  const auto distance = static_cast<std::int64_t>(target - end_address);
  const auto narrow = static_cast<std::int32_t>(distance);
  std::memcpy(out, &narrow, sizeof narrow);
  return narrow == distance;
}

// Writes `instruction` for its new place. Returns its length, 0 where a distance doesn't fit.
std::size_t move_instruction(const std::uint8_t* code, const Instruction& instruction, std::uint8_t* out,
                             std::uint64_t address) {
  if (instruction.kind == InstructionKind::Plain || instruction.kind == InstructionKind::End) {
    std::memcpy(out, code, instruction.length);
    return instruction.field == 0 ? instruction.length : 0;
  }
  const std::uint64_t target = target_of(code, instruction);
  switch (instruction.kind) {
    case InstructionKind::ShortBranch:
      out[0] = 0x0f;
      out[1] = static_cast<std::uint8_t>(code[instruction.field - 1] + 0x10);
      return put_distance(out + 2, address + 6, target) ? 6 : 0;
    case InstructionKind::ShortJump:
      return put_jump(out, address, target) ? kJumpBytes : 0;
    default:
      std::memcpy(out, code, instruction.length);
      return put_distance(out + instruction.field, address + instruction.length, target) ? instruction.length : 0;
  }
}

const char* refusal_of(const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::Unknown:
      return "it begins with an instruction that isn't known";
    case InstructionKind::Call:
      return "it begins with a call";
    case InstructionKind::OnlyHere:
      return "it begins with a loop";
    default:
      return nullptr;
  }
}

bool is_branch(InstructionKind kind) {
  return kind == InstructionKind::ShortBranch || kind == InstructionKind::Branch ||
         kind == InstructionKind::ShortJump || kind == InstructionKind::Jump || kind == InstructionKind::OnlyHere;
}

// Does a branch of the function lead into [from, to)? A branch to the start of what is moved is a call of the function.
const char* branch_refusal(const std::uint8_t* function, std::size_t bytes, std::uint64_t from, std::uint64_t to) {
  for (std::size_t at = 0; at < bytes;) {
    const Instruction instruction = decode_instruction(function + at, bytes - at);
    if (instruction.kind == InstructionKind::Unknown) return "it has an instruction that isn't known";
    if (is_branch(instruction.kind)) {
      const std::uint64_t target = target_of(function + at, instruction);
      if (target > from && target < to) return "it branches to its own beginning";
    }
    at += instruction.length;
  }
  return nullptr;
}

}  // namespace

bool put_jump(std::uint8_t* out, std::uint64_t address, std::uint64_t target) {
  out[0] = 0xe9;
  return put_distance(out + 1, address + kJumpBytes, target);
}

Displaced displace(const std::uint8_t* function, std::size_t bytes, std::uint8_t* out, std::uint64_t address) {
  Displaced result;
  const auto refuse = [&result](const char* reason) {
    result.refusal = reason;
    return result;
  };
  if (bytes >= sizeof kEndbr64 && std::memcmp(function, kEndbr64, sizeof kEndbr64) == 0) result.place = sizeof kEndbr64;
  std::size_t at = result.place;
  std::size_t written = 0;
  bool ends = false;
  while (at < result.place + kJumpBytes) {
    if (at >= bytes || ends) return refuse("it is too short");
    const Instruction instruction = decode_instruction(function + at, bytes - at);
    if (const char* reason = refusal_of(instruction); reason != nullptr) return refuse(reason);
    const std::size_t moved = move_instruction(function + at, instruction, out + written, address + written);
    if (moved == 0) return refuse("it refers to memory that is too far away");
    ends = instruction.kind == InstructionKind::End || instruction.kind == InstructionKind::Jump ||
           instruction.kind == InstructionKind::ShortJump;
    at += instruction.length;
    written += moved;
  }
  result.bytes = static_cast<std::uint8_t>(at - result.place);
  if (const char* reason = branch_refusal(function, bytes, word(function) + result.place, word(function) + at);
      reason != nullptr)
    return refuse(reason);
  if (!put_jump(out + written, address + written, word(function) + at)) return refuse("its module is too far away");
  result.written = static_cast<std::uint8_t>(written + kJumpBytes);
  return result;
}

}  // namespace tare::recorder
