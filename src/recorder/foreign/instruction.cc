// Tables of opcodes: see instruction.h. Everything that a compiler's functions don't contain is left out.
#include "recorder/foreign/instruction.h"

namespace tare::recorder {
namespace {

// The bytes after an opcode.
enum Form : std::uint8_t {
  kNone,     // not known
  kBare,     // nothing
  kModrm,    // a ModRM byte
  kImm8,     // one byte
  kImm32,    // four bytes, two with prefix 66
  kModrm8,   // a ModRM byte and one byte
  kModrm32,  // a ModRM byte and four bytes, two with prefix 66
};

Form form_of_one_byte(std::uint8_t opcode) {
  if (opcode < 0x40) {  // eight groups of arithmetic
    switch (opcode & 7) {
      case 4:
        return kImm8;
      case 5:
        return kImm32;
      case 6:
      case 7:
        return kNone;
      default:
        return kModrm;
    }
  }
  if (opcode >= 0x50 && opcode <= 0x5f) return kBare;   // push, pop
  if (opcode >= 0x84 && opcode <= 0x8b) return kModrm;  // test, xchg, mov
  if (opcode >= 0x90 && opcode <= 0x99) return kBare;   // xchg, cbw, cwd
  if (opcode >= 0x9c && opcode <= 0x9f) return kBare;   // pushf, popf, sahf, lahf
  if (opcode >= 0xb0 && opcode <= 0xb7) return kImm8;   // mov
  if (opcode >= 0xd8 && opcode <= 0xdf) return kModrm;  // x87
  switch (opcode) {
    case 0x63:  // movsxd
    case 0x8d:  // lea
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:  // shifts
    case 0xfe:
    case 0xff:  // inc, dec, push; calls and jumps
      return kModrm;
    case 0x68:  // push
    case 0xa9:  // test
      return kImm32;
    case 0x6a:  // push
    case 0xa8:  // test
      return kImm8;
    case 0x69:  // imul
    case 0x81:
    case 0xc7:  // mov
      return kModrm32;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return kModrm8;
    case 0xa4:
    case 0xa5:
    case 0xa6:
    case 0xa7:
    case 0xaa:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xae:
    case 0xaf:  // strings
    case 0xc9:  // leave
      return kBare;
    default:
      return kNone;
  }
}

Form form_of_two_bytes(std::uint8_t opcode) {
  if (opcode >= 0x10 && opcode <= 0x1f) return kModrm;  // moves, prefetches, endbr64, nop
  if (opcode >= 0x28 && opcode <= 0x2f) return kModrm;
  if (opcode >= 0x40 && opcode <= 0x6f) return kModrm;  // cmov, SSE
  if (opcode >= 0x74 && opcode <= 0x76) return kModrm;
  if (opcode >= 0x7c && opcode <= 0x7f) return kModrm;
  if (opcode >= 0x90 && opcode <= 0x9f) return kModrm;  // set
  if (opcode >= 0xc8 && opcode <= 0xcf) return kBare;   // bswap
  if (opcode >= 0xd0 && opcode <= 0xfe) return kModrm;  // SSE
  switch (opcode) {
    case 0x05:  // syscall
    case 0x31:  // rdtsc
    case 0xa2:  // cpuid
      return kBare;
    case 0x01:  // rdtscp, xgetbv and such
    case 0x0d:  // prefetch
    case 0xa3:
    case 0xa5:
    case 0xab:
    case 0xad:
    case 0xae:
    case 0xaf:
    case 0xb0:
    case 0xb1:
    case 0xb3:
    case 0xb6:
    case 0xb7:
    case 0xb8:
    case 0xbb:
    case 0xbc:
    case 0xbd:
    case 0xbe:
    case 0xbf:
    case 0xc0:
    case 0xc1:
    case 0xc3:
    case 0xc7:
      return kModrm;
    case 0x70:
    case 0x71:
    case 0x72:
    case 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return kModrm8;
    default:
      return kNone;
  }
}

// Reads forward; past the end, it reads zeros and remembers it.
class Reader {
 public:
  Reader(const std::uint8_t* code, std::size_t bytes) : code_(code), bytes_(bytes < kLongest ? bytes : kLongest) {}
  std::uint8_t peek() const { return at_ < bytes_ ? code_[at_] : 0; }
  std::uint8_t next() {
    const std::uint8_t byte = peek();
    ++at_;
    return byte;
  }
  void skip(std::size_t count) { at_ += count; }
  bool is_within() const { return at_ <= bytes_; }
  std::uint8_t position() const { return static_cast<std::uint8_t>(at_); }

 private:
  static constexpr std::size_t kLongest = 15;
  const std::uint8_t* code_;
  std::size_t bytes_;
  std::size_t at_ = 0;
};

// A ModRM byte and what it asks for. Returns the place of a distance from this instruction, 0 for none.
std::uint8_t skip_modrm(Reader& reader, std::uint8_t& reg) {
  const std::uint8_t modrm = reader.next();
  const int mode = modrm >> 6;
  const int rm = modrm & 7;
  reg = modrm >> 3 & 7;
  if (mode == 3) return 0;
  std::uint8_t base = 0;
  if (rm == 4) base = reader.next() & 7;  // a SIB byte
  if (mode == 0 && rm == 5) {
    const std::uint8_t field = reader.position();
    reader.skip(4);
    return field;
  }
  if (mode == 1) reader.skip(1);
  if (mode == 2 || (mode == 0 && rm == 4 && base == 5)) reader.skip(4);
  return 0;
}

Instruction finish(const Reader& reader, InstructionKind kind, std::uint8_t field = 0) {
  if (!reader.is_within()) return {};
  return {kind, reader.position(), field};
}

Instruction finish_form(Reader& reader, Form form, std::size_t immediate_bytes) {
  std::uint8_t field = 0;
  std::uint8_t reg = 0;
  if (form == kModrm || form == kModrm8 || form == kModrm32) field = skip_modrm(reader, reg);
  if (form == kImm8 || form == kModrm8) reader.skip(1);
  if (form == kImm32 || form == kModrm32) reader.skip(immediate_bytes);
  return finish(reader, field != 0 ? InstructionKind::Relative : InstructionKind::Plain, field);
}

// Prefixes C5, C4 (VEX) and 62 (EVEX). `map` is the opcode's table: 1 is 0F, 2 is 0F38, 3 is 0F3A.
Instruction decode_vector(Reader& reader, std::uint8_t prefix) {
  int map = 1;
  if (prefix == 0xc5) {
    reader.skip(1);
  } else if (prefix == 0xc4) {
    map = reader.next() & 0x1f;
    reader.skip(1);
  } else {
    map = reader.next() & 7;
    reader.skip(2);
  }
  const std::uint8_t opcode = reader.next();
  if (map == 1 && opcode == 0x77) return finish(reader, InstructionKind::Plain);  // vzeroupper
  Form form = kNone;
  if (map == 1) {
    form = form_of_two_bytes(opcode);
    if (form == kBare) form = kNone;
  } else if (map == 2) {
    form = kModrm;
  } else if (map == 3) {
    form = kModrm8;
  }
  if (form == kNone) return {};
  return finish_form(reader, form, 4);
}

Instruction decode_two_bytes(Reader& reader) {
  const std::uint8_t opcode = reader.next();
  if (opcode == 0x38) {
    reader.skip(1);
    return finish_form(reader, kModrm, 4);
  }
  if (opcode == 0x3a) {
    reader.skip(1);
    return finish_form(reader, kModrm8, 4);
  }
  if (opcode == 0x0b) return finish(reader, InstructionKind::End);  // ud2
  if (opcode >= 0x80 && opcode <= 0x8f) {
    const std::uint8_t field = reader.position();
    reader.skip(4);
    return finish(reader, InstructionKind::Branch, field);
  }
  const Form form = form_of_two_bytes(opcode);
  if (form == kNone) return {};
  return finish_form(reader, form, 4);
}

}  // namespace

Instruction decode_instruction(const std::uint8_t* code, std::size_t bytes) {
  Reader reader(code, bytes);
  bool is_short = false;  // prefix 66
  std::uint8_t opcode = reader.next();
  for (;; opcode = reader.next()) {
    if (!reader.is_within()) return {};
    if (opcode == 0x66) {
      is_short = true;
    } else if (opcode != 0xf0 && opcode != 0xf2 && opcode != 0xf3 && opcode != 0x2e && opcode != 0x36 &&
               opcode != 0x3e && opcode != 0x26 && opcode != 0x64 && opcode != 0x65 && opcode != 0x67) {
      break;
    }
  }
  if (opcode == 0xc5 || opcode == 0xc4 || opcode == 0x62) return decode_vector(reader, opcode);
  bool is_wide = false;
  if (opcode >= 0x40 && opcode <= 0x4f) {
    is_wide = (opcode & 8) != 0;
    opcode = reader.next();
  }
  if (opcode == 0x0f) return decode_two_bytes(reader);
  const std::size_t immediate_bytes = is_short && !is_wide ? 2 : 4;
  const std::uint8_t field = reader.position();

  if (opcode >= 0x70 && opcode <= 0x7f) {
    reader.skip(1);
    return finish(reader, InstructionKind::ShortBranch, field);
  }
  if (opcode >= 0xb8 && opcode <= 0xbf) {
    reader.skip(is_wide ? 8 : immediate_bytes);
    return finish(reader, InstructionKind::Plain);
  }
  if (opcode >= 0xe0 && opcode <= 0xe3) {
    reader.skip(1);
    return finish(reader, InstructionKind::OnlyHere, field);
  }
  switch (opcode) {
    case 0xe8:
    case 0xe9:
      reader.skip(4);
      return finish(reader, opcode == 0xe8 ? InstructionKind::Call : InstructionKind::Jump, field);
    case 0xeb:
      reader.skip(1);
      return finish(reader, InstructionKind::ShortJump, field);
    case 0xc2:
      reader.skip(2);
      return finish(reader, InstructionKind::End);
    case 0xc3:
    case 0xcc:
    case 0xf4:
      return finish(reader, InstructionKind::End);
    case 0xf6:
    case 0xf7: {  // test has an immediate, the others none
      std::uint8_t reg = 0;
      const std::uint8_t place = skip_modrm(reader, reg);
      if (reg < 2) reader.skip(opcode == 0xf6 ? 1 : immediate_bytes);
      return finish(reader, place != 0 ? InstructionKind::Relative : InstructionKind::Plain, place);
    }
    case 0xc6:
    case 0xc7:
      if ((reader.peek() >> 3 & 7) != 0) return {};  // xabort, xbegin
      break;
    case 0xff: {
      std::uint8_t reg = 0;
      const std::uint8_t place = skip_modrm(reader, reg);
      if (reg == 4 || reg == 5) return finish(reader, InstructionKind::End, place);
      // An indirect call pushes its own address.
      if (reg == 2 || reg == 3) return finish(reader, InstructionKind::Call, 0);
      if (reg == 7) return {};
      return finish(reader, place != 0 ? InstructionKind::Relative : InstructionKind::Plain, place);
    }
    default:
      break;
  }
  const Form form = form_of_one_byte(opcode);
  if (form == kNone) return {};
  return finish_form(reader, form, immediate_bytes);
}

}  // namespace tare::recorder
