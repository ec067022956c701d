// Finds the FDE of an address by the binary search table, runs CIE and FDE instructions up to the address.
#include "recorder/unwind/cfi.h"

namespace tare::recorder {
namespace {

struct Cie {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  bool signal_frame = false;
  std::uint64_t instructions = 0;
  std::uint64_t end = 0;
};

struct Fde {
  Cie cie;
  std::uint64_t start = 0;  // code covered
  std::uint64_t end = 0;
  std::uint64_t instructions = 0;
  std::uint64_t instructions_end = 0;
};

// A CIE's or FDE's body, after its length. `id` is where the CIE pointer lies.
struct Entry {
  std::uint64_t id = 0;
  std::uint64_t end = 0;
  std::uint32_t cie_distance = 0;  // 0: this is a CIE
};

enum class EntryResult : std::uint8_t { Ok, Terminator, Malformed };

EntryResult read_entry(const UnwindTable& table, std::uint64_t address, Entry& entry) {
  const Range* range = table.image.around(address);
  if (range == nullptr) return EntryResult::Malformed;
  Reader reader(address, range->end);
  std::uint64_t length = reader.fixed<std::uint32_t>();
  if (!reader.bad() && length == 0) return EntryResult::Terminator;
  if (length == 0xffffffff) length = reader.fixed<std::uint64_t>();
  entry.id = reader.at();
  if (reader.bad() || length < 4 || length > range->end - entry.id) return EntryResult::Malformed;
  entry.end = entry.id + length;
  entry.cie_distance = reader.fixed<std::uint32_t>();
  return reader.bad() ? EntryResult::Malformed : EntryResult::Ok;
}

bool read_cie(const UnwindTable& table, std::uint64_t address, Cie& cie) {
  Entry entry;
  if (read_entry(table, address, entry) != EntryResult::Ok || entry.cie_distance != 0) return false;
  Reader reader(entry.id + 4, entry.end);
  const std::uint8_t version = reader.u8();
  if (version != 1 && version != 3 && version != 4) return false;
  std::uint8_t augmentation[8] = {};
  for (unsigned i = 0;; ++i) {
    const std::uint8_t letter = reader.u8();
    if (letter == 0) break;
    if (i >= sizeof(augmentation)) return false;
    augmentation[i] = letter;
  }
  if (augmentation[0] != 0 && augmentation[0] != 'z') return false;
  if (version == 4) {
    const std::uint8_t address_bytes = reader.u8();
    const std::uint8_t segment_bytes = reader.u8();
    if (address_bytes != 8 || segment_bytes != 0) return false;
  }
  cie.code_alignment = reader.uleb();
  cie.data_alignment = reader.sleb();
  const std::uint64_t return_column = version == 1 ? reader.u8() : reader.uleb();
  if (reader.bad() || return_column != kReturn) return false;
  if (augmentation[0] == 'z') {
    cie.has_augmentation = true;
    const std::uint64_t length = reader.uleb();
    Reader data(reader.at(), entry.end);
    reader.skip(length);
    for (unsigned i = 1; i < sizeof(augmentation) && augmentation[i] != 0; ++i) {
      if (augmentation[i] == 'R') {
        cie.pointer_encoding = data.u8();
      } else if (augmentation[i] == 'P') {
        const std::uint8_t encoding = data.u8();
        data.encoded(encoding, 0, 0);
      } else if (augmentation[i] == 'L') {
        data.u8();
      } else if (augmentation[i] == 'S') {
        cie.signal_frame = true;
      } else if (augmentation[i] != 'B') {
        break;  // unknown letters have data of unknown length: the rest can't be read
      }
    }
    if (data.bad()) return false;
  }
  cie.instructions = reader.at();
  cie.end = entry.end;
  return !reader.bad();
}

bool read_fde(const UnwindTable& table, const Entry& entry, Fde& fde) {
  if (entry.cie_distance == 0 || entry.cie_distance > entry.id) return false;
  if (!read_cie(table, entry.id - entry.cie_distance, fde.cie)) return false;
  Reader reader(entry.id + 4, entry.end);
  fde.start = reader.encoded(fde.cie.pointer_encoding, table.header, 0);
  fde.end = fde.start + reader.encoded(fde.cie.pointer_encoding & pe::kFormat, 0, 0);
  if (fde.cie.has_augmentation) reader.skip(reader.uleb());
  fde.instructions = reader.at();
  fde.instructions_end = entry.end;
  return !reader.bad() && fde.end >= fde.start;
}

// Without a search table: entry after entry. `pc` is inside the function, not behind its call.
CfiResult scan(const UnwindTable& table, std::uint64_t eh_frame, std::uint64_t pc, Fde& fde) {
  std::uint64_t address = eh_frame;
  for (;;) {
    Entry entry;
    const EntryResult result = read_entry(table, address, entry);
    if (result == EntryResult::Terminator) return CfiResult::NoEntry;
    if (result == EntryResult::Malformed) return CfiResult::Malformed;
    if (entry.cie_distance != 0) {
      if (!read_fde(table, entry, fde)) return CfiResult::Malformed;
      if (pc >= fde.start && pc < fde.end) return CfiResult::Found;
    }
    address = entry.end;
  }
}

CfiResult find_fde(const UnwindTable& table, std::uint64_t pc, Fde& fde) {
  const Range* range = table.image.around(table.header);
  if (range == nullptr) return CfiResult::NoEntry;
  Reader reader(table.header, range->end);
  const std::uint8_t version = reader.u8();
  const std::uint8_t frame_encoding = reader.u8();
  const std::uint8_t count_encoding = reader.u8();
  const std::uint8_t table_encoding = reader.u8();
  if (reader.bad() || version != 1) return CfiResult::Malformed;
  const std::uint64_t eh_frame = reader.encoded(frame_encoding, table.header, 0);
  const std::uint64_t count = reader.encoded(count_encoding, table.header, 0);
  if (reader.bad()) return CfiResult::Malformed;
  constexpr std::uint8_t kSigned4 = 0x0b;
  if (count_encoding == pe::kOmit || table_encoding != (pe::kDataRelative | kSigned4)) {
    return scan(table, eh_frame, pc, fde);
  }
  struct Pair {
    std::int32_t code;
    std::int32_t fde;
  };
  const std::uint64_t pairs = reader.at();
  if (count == 0) return CfiResult::NoEntry;
  if (count > (range->end - pairs) / sizeof(Pair)) return CfiResult::Malformed;
  const auto pair_at = [&](std::uint64_t i) {
    Pair pair;
    std::memcpy(&pair, reinterpret_cast<const void*>(pairs + i * sizeof(Pair)), sizeof(Pair));
    return pair;
  };
  std::uint64_t low = 0;
  std::uint64_t high = count;  // the last pair that starts at or before pc is in [low, high)
  if (pc < table.header + static_cast<std::uint64_t>(static_cast<std::int64_t>(pair_at(0).code))) {
    return CfiResult::NoEntry;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (pc < table.header + static_cast<std::uint64_t>(static_cast<std::int64_t>(pair_at(middle).code))) {
      high = middle;
    } else {
      low = middle;
    }
  }
  Entry entry;
  const std::uint64_t address = table.header + static_cast<std::uint64_t>(static_cast<std::int64_t>(pair_at(low).fde));
  if (read_entry(table, address, entry) != EntryResult::Ok || !read_fde(table, entry, fde)) return CfiResult::Malformed;
  return pc >= fde.start && pc < fde.end ? CfiResult::Found : CfiResult::NoEntry;
}

class Program {
 public:
  Program(const Cie& cie, CfiWork& work) : cie_(cie), work_(work) {}

  // Runs instructions that hold at or before `pc`; `location` is where the code they describe starts.
  bool run(std::uint64_t start, std::uint64_t end, std::uint64_t location, std::uint64_t pc) {
    Reader reader(start, end);
    while (!reader.done()) {
      const std::uint8_t opcode = reader.u8();
      const std::uint8_t low = opcode & 0x3f;
      std::uint64_t advance = 0;
      switch (opcode & 0xc0) {
        case 0x40:  // DW_CFA_advance_loc
          advance = low;
          break;
        case 0x80:  // DW_CFA_offset
          set(low, RegisterRule::Kind::AtCfa, scaled(reader.uleb()));
          continue;
        case 0xc0:  // DW_CFA_restore
          restore(low);
          continue;
        default:
          if (!extended(reader, low, advance, location)) return false;
          break;
      }
      location += advance * cie_.code_alignment;
      if (location > pc) break;
    }
    return !reader.bad();
  }

 private:
  CfiRow& row() { return work_.row; }

  std::int64_t scaled(std::uint64_t value) const {
    return static_cast<std::int64_t>(value * static_cast<std::uint64_t>(cie_.data_alignment));
  }

  void set(std::uint64_t reg, RegisterRule::Kind kind, std::int64_t offset) {
    if (reg >= kRegisters) return;  // vector registers: no frame depends on them
    row().registers[reg].kind = kind;
    row().registers[reg].offset = offset;
  }

  void restore(std::uint64_t reg) {
    if (reg < kRegisters) row().registers[reg] = work_.initial.registers[reg];
  }

  static Expression block(Reader& reader) {
    const std::uint64_t length = reader.uleb();
    const std::uint64_t start = reader.at();
    reader.skip(length);
    return {start, start + length};
  }

  // Opcodes with two zero high bits. `advance` in units of the code alignment; set_loc changes `location` itself.
  bool extended(Reader& reader, std::uint8_t opcode, std::uint64_t& advance, std::uint64_t& location) {
    std::uint64_t reg = 0;
    switch (opcode) {
      case 0x00:  // nop
        return true;
      case 0x01:  // set_loc
        location = reader.encoded(cie_.pointer_encoding, 0, 0);
        return !reader.bad();
      case 0x02:  // advance_loc1
        advance = reader.u8();
        return true;
      case 0x03:  // advance_loc2
        advance = reader.fixed<std::uint16_t>();
        return true;
      case 0x04:  // advance_loc4
        advance = reader.fixed<std::uint32_t>();
        return true;
      case 0x05:  // offset_extended
        reg = reader.uleb();
        set(reg, RegisterRule::Kind::AtCfa, scaled(reader.uleb()));
        return true;
      case 0x06:  // restore_extended
        restore(reader.uleb());
        return true;
      case 0x07:  // undefined
        set(reader.uleb(), RegisterRule::Kind::Undefined, 0);
        return true;
      case 0x08:  // same_value
        set(reader.uleb(), RegisterRule::Kind::Same, 0);
        return true;
      case 0x09:  // register
        reg = reader.uleb();
        set(reg, RegisterRule::Kind::Register, static_cast<std::int64_t>(reader.uleb()));
        return true;
      case 0x0a:  // remember_state
        if (saved_ == CfiWork::kMaxSaved) return false;
        work_.saved[saved_++] = row();
        return true;
      case 0x0b:  // restore_state
        if (saved_ == 0) return false;
        row() = work_.saved[--saved_];
        return true;
      case 0x0c:  // def_cfa
        reg = reader.uleb();
        return set_cfa(reg, static_cast<std::int64_t>(reader.uleb()));
      case 0x0d:  // def_cfa_register
        return set_cfa(reader.uleb(), row().cfa.offset);
      case 0x0e:  // def_cfa_offset
        row().cfa.offset = static_cast<std::int64_t>(reader.uleb());
        return true;
      case 0x0f:  // def_cfa_expression
        row().cfa.kind = CfaRule::Kind::Expression;
        row().cfa.expression = block(reader);
        return true;
      case 0x10:  // expression
      case 0x16:  // val_expression
        reg = reader.uleb();
        set(reg, opcode == 0x10 ? RegisterRule::Kind::AtExpression : RegisterRule::Kind::IsExpression, 0);
        if (const Expression expression = block(reader); reg < kRegisters) row().registers[reg].expression = expression;
        return true;
      case 0x11:  // offset_extended_sf
        reg = reader.uleb();
        set(reg, RegisterRule::Kind::AtCfa, scaled(static_cast<std::uint64_t>(reader.sleb())));
        return true;
      case 0x12:  // def_cfa_sf
        reg = reader.uleb();
        return set_cfa(reg, scaled(static_cast<std::uint64_t>(reader.sleb())));
      case 0x13:  // def_cfa_offset_sf
        row().cfa.offset = scaled(static_cast<std::uint64_t>(reader.sleb()));
        return true;
      case 0x14:  // val_offset
        reg = reader.uleb();
        set(reg, RegisterRule::Kind::CfaPlus, scaled(reader.uleb()));
        return true;
      case 0x15:  // val_offset_sf
        reg = reader.uleb();
        set(reg, RegisterRule::Kind::CfaPlus, scaled(static_cast<std::uint64_t>(reader.sleb())));
        return true;
      case 0x2c:  // AARCH64_negate_ra_state_with_pc
      case 0x2d:  // AARCH64_negate_ra_state, GNU_window_save: whether return addresses are signed is seen in them
        return true;
      case 0x2e:  // GNU_args_size
        reader.uleb();
        return true;
      case 0x2f:  // GNU_negative_offset_extended
        reg = reader.uleb();
        set(reg, RegisterRule::Kind::AtCfa, scaled(~reader.uleb() + 1));
        return true;
      default:
        return false;
    }
  }

  bool set_cfa(std::uint64_t reg, std::int64_t offset) {
    if (reg >= kRegisters) return false;
    row().cfa.kind = CfaRule::Kind::Register;
    row().cfa.reg = static_cast<std::uint32_t>(reg);
    row().cfa.offset = offset;
    return true;
  }

  const Cie& cie_;
  CfiWork& work_;
  int saved_ = 0;
};

}  // namespace

CfiResult find_cfi_row(const UnwindTable& table, std::uint64_t return_address, CfiWork& work) {
  const std::uint64_t pc = return_address - 1;
  Fde fde;
  const CfiResult result = find_fde(table, pc, fde);
  if (result != CfiResult::Found) return result;
  work.row = CfiRow{};
  work.initial = CfiRow{};
  work.signal_frame = fde.cie.signal_frame;
  Program program(fde.cie, work);
  if (!program.run(fde.cie.instructions, fde.cie.end, 0, ~std::uint64_t{0})) return CfiResult::Malformed;
  work.initial = work.row;
  if (!program.run(fde.instructions, fde.instructions_end, fde.start, pc)) return CfiResult::Malformed;
  return work.row.cfa.kind == CfaRule::Kind::None ? CfiResult::Malformed : CfiResult::Found;
}

}  // namespace tare::recorder
