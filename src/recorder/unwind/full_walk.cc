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
    const ModuleInfo* module = module_of(registers.value[kRip] - 1);
    if (module == nullptr || find_cfi_row(module->unwind, registers.value[kRip], work_) != CfiResult::Found) {
      FramePosition position{registers.value[kRip], registers.value[kRsp], registers.value[kRbp]};
      if (!frame_pointer_step(position, memory_)) return false;
      registers.value[kRip] = position.pc;
      registers.value[kRsp] = position.sp;
      registers.value[kRbp] = position.rbp;
      return true;
    }
    const CfiRow& row = work_.row;
    std::uint64_t cfa = 0;
    if (row.cfa.kind == CfaRule::Kind::Register) {
      cfa = registers.value[row.cfa.reg] + static_cast<std::uint64_t>(row.cfa.offset);
    } else if (!evaluate(row.cfa.expression, registers, reader_, nullptr, cfa)) {
      return false;
    }
    Registers caller = registers;
    caller.value[kRsp] = cfa;
    for (int i = 0; i < kRegisters; ++i) {
      if (!apply(row.registers[i], registers, cfa, caller.value[i])) return false;
    }
    // Nothing moved: a table that describes no frame would keep us here for ever.
    if (caller.value[kRip] == registers.value[kRip] && caller.value[kRsp] == registers.value[kRsp]) return false;
    if (work_.signal_frame) caller.value[kRip] += 1;
    registers = caller;
    if (!memory_.enter(registers.value[kRsp])) return false;
    if (work_.signal_frame && registers.value[kRip] == kCalledNull) {
      FramePosition position{kCalledNull, registers.value[kRsp], 0};
      leave_null_call(position);
      registers.value[kRip] = position.pc;
      registers.value[kRsp] = position.sp;
    }
    return true;
  }

 private:
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

bool frame_pointer_step(FramePosition& position, StackMemory& memory) {
  const std::uint64_t frame = position.rbp;
  if (frame < position.sp || frame % 8 != 0 || !memory.readable(frame) || !memory.readable(frame + 8)) return false;
  position = {load(frame + 8), frame + 16, load(frame)};
  return true;
}

__attribute__((noinline)) bool full_walk(FramePosition& position, StackMemory& memory, CfiWork& work) {
  Registers registers{};
  // Only the registers that a callee must preserve; the others are lost in any case. pc + 1, as if interrupted here.
  __asm__ volatile(
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)\n\t"
      "leaq 1+0(%%rip), %%rcx\n\t"
      "movq %%rcx, 128(%0)"
      :
      : "r"(registers.value)
      : "rcx", "memory");
  if (!memory.enter(registers.value[kRsp])) return false;
  Stepper stepper(memory, work);
  for (std::uint32_t i = 0; i < trace::kMaxFrames + 64; ++i) {
    const bool there = registers.value[kRip] == position.pc && registers.value[kRsp] == position.sp;
    if (!stepper.step(registers)) return false;
    if (!there) continue;
    position = {registers.value[kRip], registers.value[kRsp], registers.value[kRbp]};
    return true;
  }
  return false;
}

}  // namespace tare::recorder
