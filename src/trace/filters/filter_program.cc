// Classic BPF as seccomp restricts it.
#include "trace/filters/filter_program.h"

#include <cstddef>

#include <linux/filter.h>
#include <linux/seccomp.h>

namespace tare::trace {

namespace {

constexpr std::uint32_t kWordBits = 32;

// The first instruction after the jump must exist.
bool is_in_bounds(std::uint32_t distance, std::uint32_t left) { return distance < left; }

// `left` instructions follow this one.
bool is_step_valid(const sock_filter& step, std::uint32_t left) {
  switch (step.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      return step.k < sizeof(seccomp_data) && step.k % sizeof(std::uint32_t) == 0;
    case BPF_LD | BPF_MEM:
    case BPF_LDX | BPF_MEM:
    case BPF_ST:
    case BPF_STX:
      return step.k < BPF_MEMWORDS;
    case BPF_ALU | BPF_DIV | BPF_K:
      return step.k != 0;
    case BPF_ALU | BPF_LSH | BPF_K:
    case BPF_ALU | BPF_RSH | BPF_K:
      return step.k < kWordBits;
    case BPF_JMP | BPF_JA:
      return is_in_bounds(step.k, left);
    case BPF_JMP | BPF_JEQ | BPF_K:
    case BPF_JMP | BPF_JEQ | BPF_X:
    case BPF_JMP | BPF_JGT | BPF_K:
    case BPF_JMP | BPF_JGT | BPF_X:
    case BPF_JMP | BPF_JGE | BPF_K:
    case BPF_JMP | BPF_JGE | BPF_X:
    case BPF_JMP | BPF_JSET | BPF_K:
    case BPF_JMP | BPF_JSET | BPF_X:
      return is_in_bounds(step.jt, left) && is_in_bounds(step.jf, left);
    case BPF_LD | BPF_IMM:
    case BPF_LDX | BPF_IMM:
    case BPF_LD | BPF_W | BPF_LEN:
    case BPF_LDX | BPF_W | BPF_LEN:
    case BPF_MISC | BPF_TAX:
    case BPF_MISC | BPF_TXA:
    case BPF_ALU | BPF_ADD | BPF_K:  // NOLINT(misc-redundant-expression): two of them are 0
    case BPF_ALU | BPF_ADD | BPF_X:
    case BPF_ALU | BPF_SUB | BPF_K:
    case BPF_ALU | BPF_SUB | BPF_X:
    case BPF_ALU | BPF_MUL | BPF_K:
    case BPF_ALU | BPF_MUL | BPF_X:
    case BPF_ALU | BPF_DIV | BPF_X:
    case BPF_ALU | BPF_AND | BPF_K:
    case BPF_ALU | BPF_AND | BPF_X:
    case BPF_ALU | BPF_OR | BPF_K:
    case BPF_ALU | BPF_OR | BPF_X:
    case BPF_ALU | BPF_XOR | BPF_K:
    case BPF_ALU | BPF_XOR | BPF_X:
    case BPF_ALU | BPF_LSH | BPF_X:
    case BPF_ALU | BPF_RSH | BPF_X:
    case BPF_ALU | BPF_NEG:
    case BPF_RET | BPF_K:
    case BPF_RET | BPF_A:
      return true;
    default:
      return false;
  }
}

std::uint32_t load(const sock_filter& step, const seccomp_data& data, const std::uint32_t* memory) {
  std::uint32_t value = step.k;  // BPF_IMM
  if (BPF_MODE(step.code) == BPF_ABS) {
    const std::uint32_t offset = step.k % sizeof(data) & ~std::uint32_t{3};
    __builtin_memcpy(&value, reinterpret_cast<const char*>(&data) + offset, sizeof(value));
  } else if (BPF_MODE(step.code) == BPF_MEM) {
    value = memory[step.k % BPF_MEMWORDS];
  } else if (BPF_MODE(step.code) == BPF_LEN) {
    value = sizeof(data);
  }
  return value;
}

std::uint32_t compute(std::uint16_t code, std::uint32_t value, std::uint32_t operand) {
  switch (BPF_OP(code)) {
    case BPF_ADD:
      return value + operand;
    case BPF_SUB:
      return value - operand;
    case BPF_MUL:
      return value * operand;
    case BPF_DIV:
      return value / operand;
    case BPF_AND:
      return value & operand;
    case BPF_OR:
      return value | operand;
    case BPF_XOR:
      return value ^ operand;
    case BPF_LSH:
      return value << operand % kWordBits;
    case BPF_RSH:
      return value >> operand % kWordBits;
    default:  // BPF_NEG
      return -value;
  }
}

bool holds(std::uint16_t code, std::uint32_t value, std::uint32_t operand) {
  switch (BPF_OP(code)) {
    case BPF_JEQ:
      return value == operand;
    case BPF_JGT:
      return value > operand;
    case BPF_JGE:
      return value >= operand;
    default:  // BPF_JSET
      return (value & operand) != 0;
  }
}

}  // namespace

bool FilterProgram::is_valid() const {
  if (length_ == 0 || length_ > BPF_MAXINSNS || BPF_CLASS(steps_[length_ - 1].code) != BPF_RET) return false;
  for (std::uint32_t at = 0; at < length_; ++at) {
    if (!is_step_valid(steps_[at], length_ - at - 1)) return false;
  }
  return true;
}

FilterAction FilterProgram::answer(const seccomp_data& data) const {
  return static_cast<FilterAction>(run(data) & SECCOMP_RET_ACTION_FULL);
}

// Copies each step first, and bounds each access: another thread may write over the filter meanwhile.
std::uint32_t FilterProgram::run(const seccomp_data& data) const {
  std::uint32_t accumulator = 0;
  std::uint32_t index = 0;
  std::uint32_t memory[BPF_MEMWORDS] = {};
  for (std::uint64_t at = 0; at < length_; ++at) {
    const sock_filter step = steps_[at];
    const std::uint32_t operand = BPF_SRC(step.code) == BPF_X ? index : step.k;
    switch (BPF_CLASS(step.code)) {
      case BPF_LD:
        accumulator = load(step, data, memory);
        break;
      case BPF_LDX:
        index = load(step, data, memory);
        break;
      case BPF_ST:
        memory[step.k % BPF_MEMWORDS] = accumulator;
        break;
      case BPF_STX:
        memory[step.k % BPF_MEMWORDS] = index;
        break;
      case BPF_ALU:
        if (BPF_OP(step.code) == BPF_DIV && operand == 0)
          return SECCOMP_RET_KILL_THREAD;  // the kernel's filter ends so
        accumulator = compute(step.code, accumulator, operand);
        break;
      case BPF_JMP:
        at += BPF_OP(step.code) == BPF_JA ? step.k : holds(step.code, accumulator, operand) ? step.jt : step.jf;
        break;
      case BPF_RET:
        return BPF_RVAL(step.code) == BPF_A ? accumulator : step.k;
      default:  // BPF_MISC
        if (BPF_MISCOP(step.code) == BPF_TAX)
          index = accumulator;
        else
          accumulator = index;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

}  // namespace tare::trace
