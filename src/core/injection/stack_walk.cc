// The rules of .eh_frame, without expressions: see stack_walk.h. Code whose rules need one is linkage code, or a
// signal's return, which is recognized by its instructions.
#include "core/injection/stack_walk.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace tare::core {
namespace {

constexpr std::size_t kMostFrames = 1000;
constexpr std::size_t kMostRuleBytes = 1 << 14;
constexpr int kRegisters = 17;
constexpr int kStackPointer = 7;
constexpr int kReturnAddress = 16;

// Encodings of pointers in these tables.
constexpr std::uint8_t kOmitted = 0xff;
constexpr std::uint8_t kPcRelative = 0x10;
constexpr std::uint8_t kDataRelative = 0x30;

class Bytes {
 public:
  Bytes(const std::vector<std::uint8_t>& bytes, std::uint64_t address) : bytes_(bytes), address_(address) {}

  bool at_end() const { return at_ >= bytes_.size(); }
  bool failed() const { return failed_; }
  void skip(std::uint64_t count) {
    if (count > bytes_.size() - at_)
      fail();
    else
      at_ += count;
  }
  template <typename T>
  T take() {
    T value{};
    if (bytes_.size() - at_ < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::uint64_t take_unsigned() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = take<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }
  std::int64_t take_signed() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64;) {
      const auto byte = take<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
    fail();
    return 0;
  }
  std::uint64_t take_pointer(std::uint8_t encoding) {
    const std::uint64_t here = address_ + at_;
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = take<std::uint64_t>();
        break;
      case 0x01:
        value = take_unsigned();
        break;
      case 0x02:
        value = take<std::uint16_t>();
        break;
      case 0x03:
        value = take<std::uint32_t>();
        break;
      case 0x09:
        value = static_cast<std::uint64_t>(take_signed());
        break;
      case 0x0a:
        value = static_cast<std::uint64_t>(std::int64_t{take<std::int16_t>()});
        break;
      case 0x0b:
        value = static_cast<std::uint64_t>(std::int64_t{take<std::int32_t>()});
        break;
      default:
        fail();
    }
    return (encoding & 0x70) == kPcRelative ? here + value : value;
  }

 private:
  void fail() {
    failed_ = true;
    at_ = bytes_.size();
  }

  const std::vector<std::uint8_t>& bytes_;
  std::uint64_t address_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

struct Rule {
  enum Kind : std::uint8_t { Same, Undefined, AtOffset, IsOffset, InRegister, Unknown } kind = Same;
  std::int64_t value = 0;
};

struct Row {
  int frame_register = kStackPointer;
  std::int64_t frame_offset = 8;
  bool is_known = true;  // the frame's address isn't an expression
  std::array<Rule, kRegisters> rules;
};

struct Entry {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  std::vector<std::uint8_t> initial, rules;
};

using Registers = std::array<std::uint64_t, kRegisters>;

// The record at `address`, without its length.
std::optional<std::vector<std::uint8_t>> read_record(pid_t pid, std::uint64_t& address) {
  const auto length = read_remote_value<std::uint32_t>(pid, address);
  if (!length || *length == 0 || *length > kMostRuleBytes) return std::nullopt;
  address += 4;
  std::vector<std::uint8_t> bytes(*length);
  if (!read_remote(pid, address, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

std::vector<std::uint8_t> rest_of(Bytes& bytes) {
  std::vector<std::uint8_t> rest;
  while (!bytes.at_end()) rest.push_back(bytes.take<std::uint8_t>());
  return rest;
}

std::optional<Entry> read_entry(pid_t pid, std::uint64_t at) {
  const std::optional<std::vector<std::uint8_t>> record = read_record(pid, at);
  if (!record) return std::nullopt;
  Bytes fields(*record, at);
  const auto back = fields.take<std::uint32_t>();
  std::uint64_t common_at = at - back;
  const std::optional<std::vector<std::uint8_t>> common = read_record(pid, common_at);
  if (!common) return std::nullopt;
  Bytes shared(*common, common_at);
  shared.skip(4);
  shared.skip(1);
  std::string letters;
  for (char letter; (letter = shared.take<char>()) != '\0';) letters.push_back(letter);
  Entry entry;
  entry.code_align = shared.take_unsigned();
  entry.data_align = shared.take_signed();
  shared.take_unsigned();  // the return address's register
  std::uint8_t pointers = 0;
  const bool has_data = !letters.empty() && letters.front() == 'z';
  if (has_data) {
    shared.take_unsigned();
    for (const char letter : letters.substr(1)) {
      if (letter == 'R') pointers = shared.take<std::uint8_t>();
      if (letter == 'L') shared.take<std::uint8_t>();
      if (letter == 'P') {
        const auto encoding = shared.take<std::uint8_t>();
        shared.take_pointer(encoding & 0x7f);
      }
    }
  }
  entry.initial = rest_of(shared);
  entry.start = fields.take_pointer(pointers);
  entry.end = entry.start + fields.take_pointer(pointers & 0x0f);
  if (has_data) fields.skip(fields.take_unsigned());
  if (shared.failed() || fields.failed()) return std::nullopt;
  entry.rules = rest_of(fields);
  return entry;
}

// By the sorted table behind the header, as linkers write it.
std::optional<Entry> find_entry(pid_t pid, const LoadedObject& object, std::uint64_t address) {
  struct {
    std::uint8_t version, pointer, count, table;
  } header;
  const std::uint64_t base = object.eh_frame_header;
  if (base == 0 || !read_remote(pid, base, &header, sizeof(header))) return std::nullopt;
  const bool is_usual = header.version == 1 && header.pointer != kOmitted && (header.pointer & 0x0f) == 0x0b &&
                        header.count == 0x03 && header.table == (kDataRelative | 0x0b);
  if (!is_usual) return std::nullopt;
  const auto count = read_remote_value<std::uint32_t>(pid, base + 8);
  if (!count || *count == 0) return std::nullopt;
  std::uint32_t low = 0;
  std::uint32_t high = *count;
  std::int32_t line[2];
  const auto read_line = [&](std::uint32_t at) {
    return read_remote(pid, base + 12 + std::uint64_t{at} * 8, line, sizeof(line));
  };
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (!read_line(middle)) return std::nullopt;
    (base + static_cast<std::uint64_t>(std::int64_t{line[0]}) <= address ? low : high) = middle;
  }
  if (!read_line(low)) return std::nullopt;
  std::optional<Entry> entry = read_entry(pid, base + static_cast<std::uint64_t>(std::int64_t{line[1]}));
  if (!entry || address < entry->start || address >= entry->end) return std::nullopt;
  return entry;
}

std::int64_t scaled(std::int64_t value, const Entry& entry) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(entry.data_align));
}

// Follows the instructions up to `address`. False: one that isn't known.
bool run_rules(const Entry& entry, const std::vector<std::uint8_t>& rules, const Row& initial, std::uint64_t address,
               Row& row) {
  Bytes bytes(rules, 0);
  std::vector<Row> saved;
  std::uint64_t at = entry.start;
  const auto set = [&](std::uint64_t number, Rule rule) {
    if (number < kRegisters) row.rules[number] = rule;
  };
  while (!bytes.at_end()) {
    const auto code = bytes.take<std::uint8_t>();
    const std::uint64_t low = code & 0x3f;
    std::uint64_t number;
    switch (code >> 6) {
      case 1:
        at += low * entry.code_align;
        break;
      case 2:
        set(low, {Rule::AtOffset, scaled(static_cast<std::int64_t>(bytes.take_unsigned()), entry)});
        continue;
      case 3:
        set(low, initial.rules[low < kRegisters ? low : 0]);
        continue;
      default:
        switch (code) {
          case 0x00:  // nop
            continue;
          case 0x02:
            at += bytes.take<std::uint8_t>() * entry.code_align;
            break;
          case 0x03:
            at += bytes.take<std::uint16_t>() * entry.code_align;
            break;
          case 0x04:
            at += bytes.take<std::uint32_t>() * entry.code_align;
            break;
          case 0x05:  // offset_extended
            number = bytes.take_unsigned();
            set(number, {Rule::AtOffset, scaled(static_cast<std::int64_t>(bytes.take_unsigned()), entry)});
            continue;
          case 0x06:  // restore_extended
            number = bytes.take_unsigned();
            set(number, initial.rules[number < kRegisters ? number : 0]);
            continue;
          case 0x07:
            set(bytes.take_unsigned(), {Rule::Undefined, 0});
            continue;
          case 0x08:
            set(bytes.take_unsigned(), {Rule::Same, 0});
            continue;
          case 0x09:
            number = bytes.take_unsigned();
            set(number, {Rule::InRegister, static_cast<std::int64_t>(bytes.take_unsigned())});
            continue;
          case 0x0a:
            saved.push_back(row);
            continue;
          case 0x0b:
            if (saved.empty()) return false;
            row = saved.back();
            saved.pop_back();
            continue;
          case 0x0c:  // def_cfa
            row.frame_register = static_cast<int>(bytes.take_unsigned());
            row.frame_offset = static_cast<std::int64_t>(bytes.take_unsigned());
            row.is_known = true;
            continue;
          case 0x0d:
            row.frame_register = static_cast<int>(bytes.take_unsigned());
            continue;
          case 0x0e:
            row.frame_offset = static_cast<std::int64_t>(bytes.take_unsigned());
            continue;
          case 0x0f:  // def_cfa_expression
            bytes.skip(bytes.take_unsigned());
            row.is_known = false;
            continue;
          case 0x10:  // expression, val_expression
          case 0x16:
            set(bytes.take_unsigned(), {Rule::Unknown, 0});
            bytes.skip(bytes.take_unsigned());
            continue;
          case 0x11:  // offset_extended_sf
            number = bytes.take_unsigned();
            set(number, {Rule::AtOffset, scaled(bytes.take_signed(), entry)});
            continue;
          case 0x12:  // def_cfa_sf
            row.frame_register = static_cast<int>(bytes.take_unsigned());
            row.frame_offset = scaled(bytes.take_signed(), entry);
            row.is_known = true;
            continue;
          case 0x13:
            row.frame_offset = scaled(bytes.take_signed(), entry);
            continue;
          case 0x2e:  // GNU_args_size
            bytes.take_unsigned();
            continue;
          default:
            return false;
        }
    }
    if (at > address) break;
  }
  return !bytes.failed();
}

std::optional<Row> row_at(const Entry& entry, std::uint64_t address) {
  Row initial;
  if (!run_rules(entry, entry.initial, initial, ~std::uint64_t{0}, initial)) return std::nullopt;
  Row row = initial;
  if (!run_rules(entry, entry.rules, initial, address, row)) return std::nullopt;
  return row;
}

// mov $15, %rax; syscall: the return from a signal's handler. The interrupted registers lie on the stack.
bool leave_handler(pid_t pid, Registers& registers) {
  constexpr std::uint8_t kReturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  std::uint8_t code[sizeof(kReturn)];
  if (!read_remote(pid, registers[kReturnAddress], code, sizeof(code)) || std::memcmp(code, kReturn, sizeof(code)) != 0)
    return false;
  constexpr std::uint64_t kGeneralRegisters = 40;  // in the kernel's ucontext
  constexpr int kOrder[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
  std::array<std::uint64_t, kRegisters> stored{};
  if (!read_remote(pid, registers[kStackPointer] + kGeneralRegisters, stored.data(), sizeof(stored))) return false;
  for (int i = 0; i < kRegisters; ++i)
    registers[static_cast<std::size_t>(kOrder[i])] = stored[static_cast<std::size_t>(i)];
  return true;
}

bool leave_frame(pid_t pid, const Row& row, Registers& registers) {
  if (!row.is_known || row.frame_register >= kReturnAddress || row.frame_register < 0) return false;
  const std::uint64_t frame =
      registers[static_cast<std::size_t>(row.frame_register)] + static_cast<std::uint64_t>(row.frame_offset);
  Registers outer = registers;
  for (std::size_t i = 0; i < kRegisters; ++i) {
    const Rule& rule = row.rules[i];
    if (rule.kind == Rule::AtOffset) {
      const auto value = read_remote_value<std::uint64_t>(pid, frame + static_cast<std::uint64_t>(rule.value));
      if (!value) return false;
      outer[i] = *value;
    } else if (rule.kind == Rule::InRegister && rule.value < kRegisters) {
      outer[i] = registers[static_cast<std::size_t>(rule.value)];
    } else if (rule.kind == Rule::Undefined && i == kReturnAddress) {
      outer[i] = 0;  // the outermost frame
    } else if (i == kReturnAddress) {
      return false;
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
    const std::optional<Entry> entry = find_entry(pid, *frame.object, inside);
    if (entry) frame.function = entry->start;
    stack.frames.push_back(frame);
    if (!entry) {
      stack.is_followed = true;
      break;
    }
    const std::optional<Row> row = row_at(*entry, inside);
    const std::uint64_t sp = registers[kStackPointer];
    if (!row || !leave_frame(pid, *row, registers) || registers[kStackPointer] < sp) break;
    is_return_address = true;
  }
  return stack;
}

}  // namespace tare::core
