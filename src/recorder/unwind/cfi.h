// Call frame information: from an address to the rules that give its caller's registers (.eh_frame).
#pragma once

#include <cstdint>

#include "recorder/arch/arch.h"
#include "recorder/unwind/bytes.h"

namespace tare::recorder {

using arch::kFp, arch::kPc, arch::kRegisters, arch::kReturn, arch::kSp;

struct Expression {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

struct RegisterRule {
  enum class Kind : std::uint8_t { Same, Undefined, AtCfa, CfaPlus, Register, AtExpression, IsExpression };
  Kind kind = Kind::Same;
  std::int64_t offset = 0;  // AtCfa, CfaPlus: from the CFA; Register: its number
  Expression expression;
};

struct CfaRule {
  enum class Kind : std::uint8_t { None, Register, Expression };
  Kind kind = Kind::None;
  std::uint32_t reg = 0;
  std::int64_t offset = 0;
  Expression expression;
};

struct CfiRow {
  CfaRule cfa;
  RegisterRule registers[kRegisters];
};

// Working memory of a CFA program, some 6 KiB. It is a part of the thread's block, because the thread's stack may be
// small.
struct CfiWork {
  static constexpr int kMaxSaved = 8;  // compilers nest DW_CFA_remember_state once
  CfiRow row;                          // the result
  bool signal_frame;                   // augmentation S: the caller's pc is exact
  CfiRow initial;
  CfiRow saved[kMaxSaved];
};

// One object's unwind table: its PT_GNU_EH_FRAME and where it may be read.
struct UnwindTable {
  std::uint64_t header = 0;  // .eh_frame_hdr; 0: none
  Image image;
};

enum class CfiResult : std::uint8_t { Found, NoEntry, Malformed };

// The rules for a frame whose return address is `return_address` (an interrupted pc is passed + 1).
CfiResult find_cfi_row(const UnwindTable& table, std::uint64_t return_address, CfiWork& work);

}  // namespace tare::recorder
