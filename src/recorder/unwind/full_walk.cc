// Steps frame by frame with the complete rules, uncached: about a microsecond a frame.
#include "recorder/unwind/full_walk.h"

#include "recorder/unwind/expression.h"
#include "recorder/unwind/load.h"
#include "recorder/unwind/modules.h"
#include "trace/spool/spool_layout.h"

namespace tare::recorder {
namespace {

bool read_word(void* context, std::uint64_t address, std::uint64_t& value) {
  if (!static_cast<StackMemory*>(context)->readable(address)) return false;
  value = load(address);
  return true;
}

class Stepper {
 public:
  Stepper(StackMemory& memory, CfiWork& work) : reader_{read_word, &memory}, memory_(memory), work_(work) {}

  bool step(Registers& registers) {
    if (returns_from_signal(registers.value[kPc])) return leave_signal_frame(registers);
    const ModuleInfo* module = module_of(registers.value[kPc] - 1);
    if (module == nullptr || find_cfi_row(module->unwind, registers.value[kPc], work_) != CfiResult::Found) {
      FramePosition position{registers.value[kPc], registers.value[kSp], registers.value[kFp]};
      if (!frame_pointer_step(position, memory_)) return false;
      registers.value[kPc] = position.pc;
      registers.value[kSp] = position.sp;
      registers.value[kFp] = position.rbp;
      return true;
    }
    const CfiRow& row = work_.row;
    std::uint64_t cfa = 0;
    if (row.cfa.kind == CfaRule::Kind::Register) {
      cfa = registers.value[row.cfa.reg] + static_cast<std::uint64_t>(row.cfa.offset);
    } else if (!evaluate(row.cfa.expression, registers, reader_, nullptr, cfa)) {
      return false;
    }
    if (row.registers[kReturn].kind == RegisterRule::Kind::Undefined) return false;
    Registers caller = registers;
    caller.value[kSp] = cfa;
    for (int i = 0; i < kRegisters; ++i) {
      if (!apply(row.registers[i], registers, cfa, caller.value[i])) return false;
    }
    caller.value[kPc] = arch::code_address(caller.value[kReturn]);
    // Nothing moved: a table that describes no frame would keep us here for ever.
    if (caller.value[kPc] == registers.value[kPc] && caller.value[kSp] == registers.value[kSp]) return false;
    const std::uint64_t signal_sp = registers.value[kSp];
    registers = caller;
    return work_.signal_frame ? enter_interrupted(registers, signal_sp) : memory_.enter(registers.value[kSp]);
  }

 private:
  bool leave_signal_frame(Registers& registers) {
    const std::uint64_t signal_sp = registers.value[kSp];
    if (!memory_.readable(signal_sp + arch::kSignalFp) || !memory_.readable(signal_sp + arch::kSignalPc)) return false;
    arch::read_interrupted(signal_sp, registers.value);
    return enter_interrupted(registers, signal_sp);
  }

  bool enter_interrupted(Registers& registers, std::uint64_t signal_sp) {
    registers.value[kPc] += 1;
    if (!memory_.enter(registers.value[kSp])) return false;
    if (registers.value[kPc] == kCalledNull)
      arch::leave_null_call(registers.value[kPc], registers.value[kSp], signal_sp);
    return true;
  }

  bool apply(const RegisterRule& rule, const Registers& registers, std::uint64_t cfa, std::uint64_t& value) {
    const std::uint64_t at = cfa + static_cast<std::uint64_t>(rule.offset);
    switch (rule.kind) {
      case RegisterRule::Kind::Same:
      case RegisterRule::Kind::Undefined:
        return true;
      case RegisterRule::Kind::AtCfa:
        return read_word(&memory_, at, value);
      case RegisterRule::Kind::CfaPlus:
        value = at;
        return true;
      case RegisterRule::Kind::Register:
        if (rule.offset < 0 || rule.offset >= kRegisters) return false;
        value = registers.value[rule.offset];
        return true;
      case RegisterRule::Kind::AtExpression: {
        std::uint64_t address = 0;
        return evaluate(rule.expression, registers, reader_, &cfa, address) && read_word(&memory_, address, value);
      }
      case RegisterRule::Kind::IsExpression:
        return evaluate(rule.expression, registers, reader_, &cfa, value);
    }
    return false;
  }

  StackReader reader_;
  StackMemory& memory_;
  CfiWork& work_;
};

}  // namespace

bool returns_from_signal(std::uint64_t pc) {
  return arch::kSignalFrameByCode && probe_readable(pc) && probe_readable(pc + 7) &&
         arch::returns_from_signal(load(pc));
}

bool follows_call(std::uint64_t address) {
  if (!arch::is_code(address) || !probe_readable(address - 8) || !probe_readable(address)) return false;
  return arch::follows_call(load(address - 8));
}

bool frame_pointer_step(FramePosition& position, StackMemory& memory) {
  const std::uint64_t frame = position.rbp;
  if (frame < position.sp || frame % 8 != 0 || !memory.readable(frame) || !memory.readable(frame + 8)) return false;
  position = {arch::code_address(load(frame + 8)), frame + 16, load(frame)};
  return true;
}

__attribute__((noinline)) bool full_walk(FramePosition& position, StackMemory& memory, CfiWork& work) {
  Registers registers{};
  arch::read_registers(registers.value);
  if (!memory.enter(registers.value[kSp])) return false;
  Stepper stepper(memory, work);
  for (std::uint32_t i = 0; i < trace::kMaxFrames + 64; ++i) {
    const bool there = registers.value[kPc] == position.pc && registers.value[kSp] == position.sp;
    if (!stepper.step(registers)) return false;
    if (!there) continue;
    position = {registers.value[kPc], registers.value[kSp], registers.value[kFp]};
    return true;
  }
  return false;
}

}  // namespace tare::recorder
