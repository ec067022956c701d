// A frame's unwind rule and row id in one 64-bit word: the row cache stores it and the walk reads it.
//
//   bits  0..21  RowId          bit 23      (in a stored frame) the frame's rbp matters to an outer frame
//   bits 24..27  RuleKind
//   bits 28..39  where the caller's rbp is saved, in words, signed; from the CFA (Deref: from rbp). On aarch64 the return
//                address lies in the word above, and rbp stands for x29
//   bits 40..63  the CFA's offset, in words, signed
#pragma once

#include <cstdint>

namespace tare::recorder {

enum class RuleKind : std::uint8_t {
  // bit 0: rbp is saved, bit 1: the CFA is rbp plus the offset, else rsp plus it. arch::return_slot() has the
  // return address.
  SpSame = 0,
  SpSaved = 1,
  BpSame = 2,
  BpSaved = 3,
  // The others take the long way; none may be passed by comparing memory alone.
  Deref = 4,     // CFA in memory at rbp + offset: frames that realign the stack (main with alignas locals)
  Signal = 5,    // Linux's signal frame: the interrupted registers at fixed places above rsp
  Full = 6,      // needs more registers or an expression
  End = 7,       // the outermost frame
  NoTable = 8,   // in an object, but without unwind table
  NoObject = 9,  // in no object of the loader: generated code, or an object that was just loaded
};

class Rule {
 public:
  constexpr Rule() = default;
  constexpr explicit Rule(std::uint64_t bits) : bits_(bits) {}

  static constexpr bool fits(std::int64_t cfa_offset, std::int64_t rbp_offset) {
    return cfa_offset % 8 == 0 && rbp_offset % 8 == 0 && cfa_offset / 8 >= -(1 << 23) && cfa_offset / 8 < (1 << 23) &&
           rbp_offset / 8 >= -(1 << 11) && rbp_offset / 8 < (1 << 11);
  }
  static constexpr Rule make(RuleKind kind, std::int64_t cfa_offset, std::int64_t rbp_offset) {
    return Rule(static_cast<std::uint64_t>(kind) << kKindShift |
                (static_cast<std::uint64_t>(rbp_offset / 8) & 0xfff) << 28 |
                static_cast<std::uint64_t>(cfa_offset / 8) << 40);
  }

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr std::uint32_t row() const { return static_cast<std::uint32_t>(bits_) & kRowMask; }
  constexpr RuleKind kind() const { return static_cast<RuleKind>(bits_ >> kKindShift & 0xf); }
  constexpr bool simple() const { return (bits_ & (std::uint64_t{0xc} << kKindShift)) == 0; }
  constexpr bool saves_rbp() const { return (bits_ & (std::uint64_t{1} << kKindShift)) != 0; }     // simple kinds
  constexpr bool cfa_from_rbp() const { return (bits_ & (std::uint64_t{2} << kKindShift)) != 0; }  // simple kinds
  constexpr std::int64_t cfa_offset() const { return static_cast<std::int64_t>(bits_) >> 40 << 3; }
  constexpr std::int64_t rbp_offset() const { return static_cast<std::int64_t>(bits_ << 24) >> 52 << 3; }
  constexpr bool needs_rbp() const { return (bits_ & kNeedsRbp) != 0; }

  constexpr Rule with_row(std::uint32_t row) const { return Rule((bits_ & ~kRowMask) | row); }
  constexpr Rule with_needs_rbp() const { return Rule(bits_ | kNeedsRbp); }
  constexpr Rule without_needs_rbp() const { return Rule(bits_ & ~kNeedsRbp); }

 private:
  static constexpr int kKindShift = 24;
  static constexpr std::uint64_t kRowMask = (1u << 22) - 1;
  static constexpr std::uint64_t kNeedsRbp = 1u << 23;
  std::uint64_t bits_ = 0;
};

}  // namespace tare::recorder
