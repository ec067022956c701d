// Follows the frames of a thread: see stack_walk.h.
#include "core/injection/stack_walk.h"

#include <array>
#include <cstring>
#include <optional>

#include "core/injection/unwind_rules.h"

namespace tare::core {
namespace {

constexpr std::size_t kMostFrames = 1000;

using Registers = std::array<std::uint64_t, kUnwindRegisters>;

// mov $15, %rax; syscall: the return from a signal's handler. The interrupted registers lie on the stack.
bool leave_handler(pid_t pid, Registers& registers) {
  constexpr std::uint8_t kReturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  std::uint8_t code[sizeof(kReturn)];
  if (!read_remote(pid, registers[kReturnAddress], code, sizeof(code)) || std::memcmp(code, kReturn, sizeof(code)) != 0)
    return false;
  constexpr std::uint64_t kGeneralRegisters = 40;  // in the kernel's ucontext
  constexpr int kOrder[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
  std::array<std::uint64_t, kUnwindRegisters> stored{};
  if (!read_remote(pid, registers[kStackPointer] + kGeneralRegisters, stored.data(), sizeof(stored))) return false;
  for (int i = 0; i < kUnwindRegisters; ++i)
    registers[static_cast<std::size_t>(kOrder[i])] = stored[static_cast<std::size_t>(i)];
  return true;
}

bool leave_frame(pid_t pid, const UnwindRow& row, Registers& registers) {
  if (row.kind == UnwindRow::Unknown || row.frame_register >= kReturnAddress) return false;
  std::uint64_t frame = registers[row.frame_register] + static_cast<std::uint64_t>(row.frame_offset);
  if (row.kind == UnwindRow::Stored) {
    const auto stored = read_remote_value<std::uint64_t>(pid, frame);
    if (!stored) return false;
    frame = *stored;
  }
  Registers outer = registers;
  for (std::size_t i = 0; i < kUnwindRegisters; ++i) {
    const UnwindRule& rule = row.rules[i];
    switch (rule.kind) {
      case UnwindRule::AtOffset:
      case UnwindRule::AtAddress: {
        const std::uint64_t from = rule.kind == UnwindRule::AtOffset ? frame : registers[rule.base];
        const auto value = read_remote_value<std::uint64_t>(pid, from + static_cast<std::uint64_t>(rule.value));
        if (!value) return false;
        outer[i] = *value;
        break;
      }
      case UnwindRule::InRegister:
        if (rule.value < 0 || rule.value >= kUnwindRegisters) return false;
        outer[i] = registers[static_cast<std::size_t>(rule.value)];
        break;
      case UnwindRule::Undefined:
        if (i == kReturnAddress) outer[i] = 0;  // the outermost frame
        break;
      case UnwindRule::Unknown:
        return false;
      case UnwindRule::Same:
        if (i == kReturnAddress) return false;
        break;
    }
  }
  outer[kStackPointer] = frame;
  registers = outer;
  return true;
}

}  // namespace

WalkedStack walk_stack(pid_t pid, const LoadedObjects& objects, const user_regs_struct& from) {
  Registers registers{from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi, from.rbp, from.rsp, from.r8,
                      from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.rip};
  WalkedStack stack;
  bool is_return_address = false;
  while (stack.frames.size() < kMostFrames) {
    WalkedFrame frame;
    frame.address = registers[kReturnAddress];
    if (frame.address == 0) {
      stack.is_followed = true;
      break;
    }
    const std::uint64_t inside = frame.address - (is_return_address ? 1 : 0);
    frame.object = objects.around(inside);
    if (frame.object == nullptr) {
      stack.frames.push_back(frame);
      stack.is_followed = true;
      break;
    }
    if (leave_handler(pid, registers)) {
      stack.frames.push_back(frame);
      WalkedFrame& handler = stack.frames.back();
      handler.interrupted = true;
      is_return_address = false;
      continue;
    }
    const FoundRow found = find_unwind_row(pid, *frame.object, inside);
    frame.function = found.function;
    stack.frames.push_back(frame);
    if (found.kind == FoundRow::Kind::NoEntry) {
      stack.is_followed = true;
      break;
    }
    const std::uint64_t sp = registers[kStackPointer];
    if (found.kind == FoundRow::Kind::Unknown || !leave_frame(pid, found.row, registers) ||
        registers[kStackPointer] < sp)
      break;
    is_return_address = true;
  }
  return stack;
}

}  // namespace tare::core
