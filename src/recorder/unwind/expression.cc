// The DWARF stack machine, once over numbers and once over offsets from rsp and rbp.
#include "recorder/unwind/expression.h"

namespace tare::recorder {
namespace {

constexpr int kStackWords = 32;
constexpr int kMaxSteps = 512;  // DW_OP_bra may loop; real tables hold a dozen operations

namespace op {
enum : std::uint8_t {
  kAddr = 0x03,
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s,
  kConst2u,
  kConst2s,
  kConst4u,
  kConst4s,
  kConst8u,
  kConst8s,
  kConstu,
  kConsts,
  kDup,
  kDrop,
  kOver,
  kPick,
  kSwap,
  kRot,
  kAbs = 0x19,
  kAnd,
  kDiv,
  kMinus,
  kMod,
  kMul,
  kNeg,
  kNot,
  kOr,
  kPlus,
  kPlusUconst,
  kShl,
  kShr,
  kShra,
  kXor,
  kBra,
  kEq,
  kGe,
  kGt,
  kLe,
  kLt,
  kNe,
  kSkip,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kDerefSize = 0x94,
  kNop = 0x96,
};
}  // namespace op

// Constants and literals; false: not one.
bool read_constant(std::uint8_t code, Reader& in, std::uint64_t& value) {
  switch (code) {
    case op::kAddr:
    case op::kConst8u:
    case op::kConst8s:
      value = in.fixed<std::uint64_t>();
      return true;
    case op::kConst1u:
      value = in.u8();
      return true;
    case op::kConst1s:
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(in.fixed<std::int8_t>()));
      return true;
    case op::kConst2u:
      value = in.fixed<std::uint16_t>();
      return true;
    case op::kConst2s:
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(in.fixed<std::int16_t>()));
      return true;
    case op::kConst4u:
      value = in.fixed<std::uint32_t>();
      return true;
    case op::kConst4s:
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(in.fixed<std::int32_t>()));
      return true;
    case op::kConstu:
      value = in.uleb();
      return true;
    case op::kConsts:
      value = static_cast<std::uint64_t>(in.sleb());
      return true;
    default:
      if (code < op::kLit0 || code > op::kLit31) return false;
      value = code - op::kLit0;
      return true;
  }
}

// Operations on two numbers; false: not one, or it has no result.
bool combine(std::uint8_t code, std::uint64_t a, std::uint64_t b, std::uint64_t& result) {
  const auto sa = static_cast<std::int64_t>(a);
  const auto sb = static_cast<std::int64_t>(b);
  switch (code) {
    case op::kAnd:
      result = a & b;
      return true;
    case op::kDiv:
      if (sb == 0 || sb == -1) return false;  // -1: the one quotient that overflows isn't worth a case
      result = static_cast<std::uint64_t>(sa / sb);
      return true;
    case op::kMinus:
      result = a - b;
      return true;
    case op::kMod:
      if (b == 0) return false;
      result = a % b;
      return true;
    case op::kMul:
      result = a * b;
      return true;
    case op::kOr:
      result = a | b;
      return true;
    case op::kPlus:
      result = a + b;
      return true;
    case op::kShl:
      result = b < 64 ? a << b : 0;
      return true;
    case op::kShr:
      result = b < 64 ? a >> b : 0;
      return true;
    case op::kShra:
      result = static_cast<std::uint64_t>(sa >> (b < 63 ? b : 63));
      return true;
    case op::kXor:
      result = a ^ b;
      return true;
    case op::kEq:
      result = sa == sb;
      return true;
    case op::kGe:
      result = sa >= sb;
      return true;
    case op::kGt:
      result = sa > sb;
      return true;
    case op::kLe:
      result = sa <= sb;
      return true;
    case op::kLt:
      result = sa < sb;
      return true;
    case op::kNe:
      result = sa != sb;
      return true;
    default:
      return false;
  }
}

class Machine {
 public:
  Machine(const Registers& registers, const StackReader& reader) : registers_(registers), reader_(reader) {}

  void push(std::uint64_t value) {
    if (depth_ == kStackWords) {
      bad_ = true;
    } else {
      stack_[depth_++] = value;
    }
  }

  bool run(const Expression& expression, std::uint64_t& result) {
    Reader in(expression.start, expression.end);
    for (int steps = 0; !in.done() && !bad_; ++steps) {
      if (steps == kMaxSteps) return false;
      step(in, expression.start);
    }
    result = pop();
    return !bad_ && !in.bad();
  }

 private:
  std::uint64_t pop() {
    if (depth_ == 0) {
      bad_ = true;
      return 0;
    }
    return stack_[--depth_];
  }
  void pick(std::uint64_t back) {
    if (back >= static_cast<std::uint64_t>(depth_)) {
      bad_ = true;
    } else {
      push(stack_[static_cast<std::uint64_t>(depth_) - 1 - back]);
    }
  }
  void push_register(std::uint64_t reg, std::int64_t offset) {
    if (reg >= kRegisters) {
      bad_ = true;
    } else {
      push(registers_.value[reg] - (reg == kPc ? 1 : 0) + static_cast<std::uint64_t>(offset));
    }
  }
  void load(std::uint64_t bytes) {
    const std::uint64_t address = pop();
    std::uint64_t value = 0;
    if (bad_ || bytes == 0 || bytes > 8 || !reader_.read(reader_.context, address, value)) {
      bad_ = true;
      return;
    }
    push(bytes == 8 ? value : value & ((std::uint64_t{1} << (8 * bytes)) - 1));
  }

  void step(Reader& in, std::uint64_t start) {
    const std::uint8_t code = in.u8();
    std::uint64_t value = 0;
    if (read_constant(code, in, value)) {
      push(value);
      return;
    }
    if (code >= op::kBreg0 && code <= op::kBreg31) {
      push_register(code - op::kBreg0, in.sleb());
      return;
    }
    switch (code) {
      case op::kBregx: {
        const std::uint64_t reg = in.uleb();
        push_register(reg, in.sleb());
        return;
      }
      case op::kDeref:
        load(8);
        return;
      case op::kDerefSize:
        load(in.u8());
        return;
      case op::kDup:
        pick(0);
        return;
      case op::kDrop:
        pop();
        return;
      case op::kOver:
        pick(1);
        return;
      case op::kPick:
        pick(in.u8());
        return;
      case op::kSwap: {
        const std::uint64_t b = pop();
        const std::uint64_t a = pop();
        push(b);
        push(a);
        return;
      }
      case op::kRot: {
        const std::uint64_t c = pop();
        const std::uint64_t b = pop();
        const std::uint64_t a = pop();
        push(c);
        push(a);
        push(b);
        return;
      }
      case op::kAbs:
        value = pop();
        push(static_cast<std::int64_t>(value) < 0 ? 0 - value : value);
        return;
      case op::kNeg:
        push(0 - pop());
        return;
      case op::kNot:
        push(~pop());
        return;
      case op::kPlusUconst:
        value = pop();
        push(value + in.uleb());
        return;
      case op::kSkip:
        in.jump(in.fixed<std::int16_t>(), start);
        return;
      case op::kBra: {
        const std::int16_t distance = in.fixed<std::int16_t>();
        if (pop() != 0) in.jump(distance, start);
        return;
      }
      case op::kNop:
        return;
      default: {
        const std::uint64_t b = pop();
        const std::uint64_t a = pop();
        if (!combine(code, a, b, value)) bad_ = true;
        push(value);
        return;
      }
    }
  }

  const Registers& registers_;
  const StackReader& reader_;
  std::uint64_t stack_[kStackWords];
  int depth_ = 0;
  bool bad_ = false;
};

}  // namespace

bool evaluate(const Expression& expression, const Registers& registers, const StackReader& reader,
              const std::uint64_t* pushed, std::uint64_t& result) {
  Machine machine(registers, reader);
  if (pushed != nullptr) machine.push(*pushed);
  return machine.run(expression, result);
}

Shape shape_of(const Expression& expression, std::uint64_t pc) {
  using Kind = Shape::Kind;
  constexpr int kWords = 8;
  Shape stack[kWords];
  int depth = 0;
  Reader in(expression.start, expression.end);
  while (!in.done()) {
    const std::uint8_t code = in.u8();
    std::uint64_t value = 0;
    Shape pushed;
    if (read_constant(code, in, value)) {
      pushed = {Kind::Constant, static_cast<std::int64_t>(value)};
    } else if (code == op::kBreg0 + kSp) {
      pushed = {Kind::Sp, in.sleb()};
    } else if (code == op::kBreg0 + kFp) {
      pushed = {Kind::Bp, in.sleb()};
    } else if (arch::kCallPushes && code == op::kBreg0 + kPc) {
      pushed = {Kind::Constant, static_cast<std::int64_t>(pc + static_cast<std::uint64_t>(in.sleb()))};
    } else if (code == op::kDeref && depth >= 1 && stack[depth - 1].kind == Kind::Sp) {
      pushed = {Kind::AtSp, stack[--depth].offset};
    } else if (code == op::kDeref && depth >= 1 && stack[depth - 1].kind == Kind::Bp) {
      pushed = {Kind::AtBp, stack[--depth].offset};
    } else if (code == op::kPlusUconst && depth >= 1 && stack[depth - 1].kind != Kind::Other &&
               stack[depth - 1].kind <= Kind::Bp) {
      pushed = stack[--depth];
      pushed.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(pushed.offset) + in.uleb());
    } else if (depth >= 2 && stack[depth - 1].kind == Kind::Constant && stack[depth - 2].kind == Kind::Constant) {
      const Shape b = stack[--depth];
      const Shape a = stack[--depth];
      if (!combine(code, static_cast<std::uint64_t>(a.offset), static_cast<std::uint64_t>(b.offset), value)) return {};
      pushed = {Kind::Constant, static_cast<std::int64_t>(value)};
    } else if (code == op::kPlus && depth >= 2 && stack[depth - 1].kind == Kind::Constant &&
               (stack[depth - 2].kind == Kind::Sp || stack[depth - 2].kind == Kind::Bp)) {
      const Shape b = stack[--depth];
      pushed = stack[--depth];
      pushed.offset =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(pushed.offset) + static_cast<std::uint64_t>(b.offset));
    } else {
      return {};
    }
    if (depth == kWords) return {};
    stack[depth++] = pushed;
  }
  return in.bad() || depth == 0 ? Shape{} : stack[depth - 1];
}

}  // namespace tare::recorder
