// Interprets .eh_frame: see unwind_rules.h. Of expressions, only sums are. Code whose rules need others is linkage
// code, or a signal's return, which is recognized by its instructions.
#include "core/injection/unwind_rules.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace tare::core {
namespace {

constexpr std::size_t kMostRuleBytes = 1 << 14;

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
  std::vector<std::uint8_t> take_block(std::uint64_t count) {
    const std::size_t begin = at_;
    skip(count);
    if (failed_) return {};
    return {bytes_.begin() + static_cast<std::ptrdiff_t>(begin), bytes_.begin() + static_cast<std::ptrdiff_t>(at_)};
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

struct Entry {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  std::vector<std::uint8_t> initial, rules;
};

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

enum class Lookup : std::uint8_t { Found, NoEntry, Unknown };

// By the sorted table behind the header, as linkers write it.
Lookup find_entry(pid_t pid, const LoadedObject& object, std::uint64_t address, Entry& entry) {
  struct {
    std::uint8_t version, pointer, count, table;
  } header;
  const std::uint64_t base = object.eh_frame_header;
  if (base == 0) return Lookup::NoEntry;
  if (!read_remote(pid, base, &header, sizeof(header))) return Lookup::Unknown;
  const bool is_usual = header.version == 1 && header.pointer != kOmitted && (header.pointer & 0x0f) == 0x0b &&
                        header.count == 0x03 && header.table == (kDataRelative | 0x0b);
  if (!is_usual) return Lookup::Unknown;
  const auto count = read_remote_value<std::uint32_t>(pid, base + 8);
  if (!count) return Lookup::Unknown;
  if (*count == 0) return Lookup::NoEntry;
  std::uint32_t low = 0;
  std::uint32_t high = *count;
  std::int32_t line[2];
  const auto read_line = [&](std::uint32_t at) {
    return read_remote(pid, base + 12 + std::uint64_t{at} * 8, line, sizeof(line));
  };
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (!read_line(middle)) return Lookup::Unknown;
    (base + static_cast<std::uint64_t>(std::int64_t{line[0]}) <= address ? low : high) = middle;
  }
  if (!read_line(low)) return Lookup::Unknown;
  const std::optional<Entry> found = read_entry(pid, base + static_cast<std::uint64_t>(std::int64_t{line[1]}));
  if (!found) return Lookup::Unknown;
  if (address < found->start || address >= found->end) return Lookup::NoEntry;
  entry = *found;
  return Lookup::Found;
}

std::int64_t scaled(std::int64_t value, const Entry& entry) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(entry.data_align));
}

// An expression of the form "register plus offset", and the same with a load.
struct Sum {
  enum Kind : std::uint8_t { Other, Address, Load } kind = Other;
  std::uint64_t base = 0;
  std::int64_t offset = 0;
};

Sum take_sum(Bytes& bytes) {
  constexpr std::uint8_t kFirstRegister = 0x70;
  constexpr std::uint8_t kLoad = 0x06;
  const std::vector<std::uint8_t> code = bytes.take_block(bytes.take_unsigned());
  Bytes expression(code, 0);
  const auto base = static_cast<std::uint8_t>(expression.take<std::uint8_t>() - kFirstRegister);
  Sum sum{Sum::Address, base, expression.take_signed()};
  if (expression.failed() || base >= kReturnAddress) return {};
  if (expression.at_end()) return sum;
  sum.kind = Sum::Load;
  return expression.take<std::uint8_t>() == kLoad && expression.at_end() ? sum : Sum{};
}

// Follows the instructions up to `address`. False: one that isn't known.
bool run_rules(const Entry& entry, const std::vector<std::uint8_t>& rules, const UnwindRow& initial,
               std::uint64_t address, UnwindRow& row) {
  Bytes bytes(rules, 0);
  std::vector<UnwindRow> saved;
  std::uint64_t at = entry.start;
  const auto set = [&](std::uint64_t number, UnwindRule rule) {
    if (number < kUnwindRegisters) row.rules[number] = rule;
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
        set(low, {UnwindRule::AtOffset, scaled(static_cast<std::int64_t>(bytes.take_unsigned()), entry)});
        continue;
      case 3:
        set(low, initial.rules[low < kUnwindRegisters ? low : 0]);
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
            set(number, {UnwindRule::AtOffset, scaled(static_cast<std::int64_t>(bytes.take_unsigned()), entry)});
            continue;
          case 0x06:  // restore_extended
            number = bytes.take_unsigned();
            set(number, initial.rules[number < kUnwindRegisters ? number : 0]);
            continue;
          case 0x07:
            set(bytes.take_unsigned(), {UnwindRule::Undefined});
            continue;
          case 0x08:
            set(bytes.take_unsigned(), {UnwindRule::Same});
            continue;
          case 0x09:
            number = bytes.take_unsigned();
            set(number, {UnwindRule::InRegister, static_cast<std::int64_t>(bytes.take_unsigned())});
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
            row.frame_register = bytes.take_unsigned();
            row.frame_offset = static_cast<std::int64_t>(bytes.take_unsigned());
            row.kind = UnwindRow::Sum;
            continue;
          case 0x0d:
            row.frame_register = bytes.take_unsigned();
            continue;
          case 0x0e:
            row.frame_offset = static_cast<std::int64_t>(bytes.take_unsigned());
            continue;
          case 0x0f: {  // def_cfa_expression
            const Sum sum = take_sum(bytes);
            row.frame_register = sum.base;
            row.frame_offset = sum.offset;
            row.kind = sum.kind == Sum::Load ? UnwindRow::Stored : UnwindRow::Unknown;
            continue;
          }
          case 0x10: {  // expression
            number = bytes.take_unsigned();
            const Sum sum = take_sum(bytes);
            if (sum.kind == Sum::Address)
              set(number, {UnwindRule::AtAddress, sum.offset, sum.base});
            else
              set(number, {UnwindRule::Unknown});
            continue;
          }
          case 0x16:  // val_expression
            set(bytes.take_unsigned(), {UnwindRule::Unknown});
            bytes.skip(bytes.take_unsigned());
            continue;
          case 0x11:  // offset_extended_sf
            number = bytes.take_unsigned();
            set(number, {UnwindRule::AtOffset, scaled(bytes.take_signed(), entry)});
            continue;
          case 0x12:  // def_cfa_sf
            row.frame_register = bytes.take_unsigned();
            row.frame_offset = scaled(bytes.take_signed(), entry);
            row.kind = UnwindRow::Sum;
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

}  // namespace

FoundRow find_unwind_row(pid_t pid, const LoadedObject& object, std::uint64_t address) {
  FoundRow found;
  Entry entry;
  const Lookup lookup = find_entry(pid, object, address, entry);
  if (lookup == Lookup::NoEntry) found.kind = FoundRow::Kind::NoEntry;
  if (lookup != Lookup::Found) return found;
  found.function = entry.start;
  UnwindRow initial;
  if (!run_rules(entry, entry.initial, initial, ~std::uint64_t{0}, initial)) return found;
  found.row = initial;
  if (run_rules(entry, entry.rules, initial, address, found.row)) found.kind = FoundRow::Kind::Found;
  return found;
}

}  // namespace tare::core
