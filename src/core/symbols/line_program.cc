// The line number state machine (DWARF 5, section 6.2), reduced to look-ups.
#include "core/symbols/line_program.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>

namespace tare::core {
namespace {

// A header that claims more entries than bytes is damaged; this also bounds memory.
bool plausible(std::uint64_t count, const ByteReader& reader) { return count <= reader.left(); }

struct EntryFormat {
  std::uint64_t content;
  std::uint64_t form;
};

struct FieldValue {
  std::string_view text;
  std::uint64_t number = 0;
};

std::string_view string_at(std::string_view section, std::uint64_t offset) {
  if (offset >= section.size()) return {};
  ByteReader reader(section.substr(offset));
  return reader.c_string();
}

std::uint64_t read_offset(ByteReader& reader, unsigned offset_bytes) {
  return offset_bytes == 8 ? reader.u64() : reader.u32();
}

// nullopt: a form that may not stand here.
std::optional<FieldValue> read_field(ByteReader& reader, std::uint64_t form, const LineSections& sections,
                                     unsigned offset_bytes) {
  FieldValue value;
  switch (form) {
    case DW_FORM_string:
      value.text = reader.c_string();
      break;
    case DW_FORM_line_strp:
      value.text = string_at(sections.line_str, read_offset(reader, offset_bytes));
      break;
    case DW_FORM_strp:
      value.text = string_at(sections.str, read_offset(reader, offset_bytes));
      break;
    case DW_FORM_strp_sup:
      read_offset(reader, offset_bytes);
      break;
    case DW_FORM_udata:
      value.number = reader.uleb();
      break;
    case DW_FORM_data1:
      value.number = reader.u8();
      break;
    case DW_FORM_data2:
      value.number = reader.u16();
      break;
    case DW_FORM_data4:
      value.number = reader.u32();
      break;
    case DW_FORM_data8:
      value.number = reader.u64();
      break;
    case DW_FORM_data16:
      reader.take(16);
      break;
    case DW_FORM_block:
      reader.take(reader.uleb());
      break;
    default:
      return std::nullopt;
  }
  return value;
}

std::vector<EntryFormat> read_formats(ByteReader& reader) {
  std::vector<EntryFormat> formats(reader.u8());
  for (EntryFormat& format : formats) {
    format.content = reader.uleb();
    format.form = reader.uleb();
  }
  return formats;
}

}  // namespace

std::optional<LineProgram> LineProgram::parse(const LineSections& sections, std::uint64_t offset,
                                              std::string_view comp_dir) {
  if (offset >= sections.line.size()) return std::nullopt;
  ByteReader unit(sections.line.substr(offset));
  unsigned offset_bytes = 4;
  std::uint64_t length = unit.u32();
  if (length == 0xffffffff) {
    offset_bytes = 8;
    length = unit.u64();
  }
  unit = ByteReader(unit.take(length));
  LineProgram made;
  made.comp_dir_ = comp_dir;
  const std::uint16_t version = unit.u16();
  if (version < 2 || version > 5) return std::nullopt;
  if (version >= 5) {
    made.address_bytes_ = unit.u8();
    unit.u8();  // segment selector size
  }
  const std::uint64_t header_bytes = read_offset(unit, offset_bytes);
  ByteReader header(unit.take(header_bytes));
  made.program_ = unit.take(unit.left());
  made.minimum_instruction_ = header.u8();
  if (version >= 4) made.maximum_operations_ = header.u8();
  header.u8();  // default_is_stmt
  made.line_base_ = header.fixed<std::int8_t>();
  made.line_range_ = header.u8();
  made.opcode_base_ = header.u8();
  if (unit.failed() || header.failed() || made.line_range_ == 0 || made.opcode_base_ == 0 ||
      made.maximum_operations_ == 0 || (made.address_bytes_ != 8 && made.address_bytes_ != 4)) {
    return std::nullopt;
  }
  made.operand_counts_.resize(made.opcode_base_);
  for (unsigned opcode = 1; opcode < made.opcode_base_; ++opcode) made.operand_counts_[opcode] = header.u8();
  const bool parsed = version >= 5 ? made.parse_tables(header, sections, offset_bytes) : made.parse_old_tables(header);
  if (!parsed || header.failed()) return std::nullopt;
  return made;
}

bool LineProgram::parse_old_tables(ByteReader& header) {
  directories_.push_back(comp_dir_);
  for (std::string_view name = header.c_string(); !name.empty(); name = header.c_string()) directories_.push_back(name);
  files_.emplace_back();
  for (std::string_view name = header.c_string(); !name.empty(); name = header.c_string()) {
    files_.push_back({name, header.uleb()});
    header.uleb();  // modification time
    header.uleb();  // length
  }
  return true;
}

bool LineProgram::parse_tables(ByteReader& header, const LineSections& sections, unsigned offset_bytes) {
  for (const bool is_files : {false, true}) {
    const std::vector<EntryFormat> formats = read_formats(header);
    const std::uint64_t count = header.uleb();
    if (!plausible(count, header) || (formats.empty() && count != 0)) return false;
    for (std::uint64_t i = 0; i < count && !header.failed(); ++i) {
      File entry;
      for (const EntryFormat& format : formats) {
        const std::optional<FieldValue> value = read_field(header, format.form, sections, offset_bytes);
        if (!value) return false;
        if (format.content == DW_LNCT_path) entry.name = value->text;
        if (format.content == DW_LNCT_directory_index) entry.directory = value->number;
      }
      if (is_files) {
        files_.push_back(entry);
      } else {
        directories_.push_back(entry.name);
      }
    }
  }
  return true;
}

std::string LineProgram::path(std::uint32_t index) const {
  if (index >= files_.size() || files_[index].name.empty()) return {};
  const File& file = files_[index];
  std::filesystem::path path(file.name);
  if (path.is_absolute() || file.directory >= directories_.size()) return path.lexically_normal().string();
  path = directories_[file.directory] / path;
  // Directory 0 is the compilation directory itself, and may be relative (-ffile-prefix-map=/build=.).
  if (path.is_relative() && file.directory != 0) path = comp_dir_ / path;
  return path.lexically_normal().string();
}

namespace {

// Merges a sequence's ascending rows with the ascending addresses of the batch.
class Matcher {
 public:
  Matcher(std::span<const std::uint64_t> addresses, std::vector<std::optional<LineRow>>& rows)
      : addresses_(addresses), rows_(rows) {}

  void row(std::uint64_t address, const LineRow& row) {
    if (in_sequence_ && address > address_) {
      if (next_ < addresses_.size() && addresses_[next_] < address) fill(address);
    } else if (!in_sequence_ || address < address_) {  // a sequence begins, or a damaged one runs backwards
      next_ = static_cast<std::size_t>(std::lower_bound(addresses_.begin(), addresses_.end(), address) -
                                       addresses_.begin());
      in_sequence_ = true;
    }
    address_ = address;
    row_ = row;
  }
  void end_sequence(std::uint64_t address) {
    if (in_sequence_ && address > address_) fill(address);
    in_sequence_ = false;
  }

 private:
  void fill(std::uint64_t end) {
    // Sequence at 0: a function that the linker dropped.
    for (; next_ < addresses_.size() && addresses_[next_] < end; ++next_) {
      if (!rows_[next_]) rows_[next_] = row_;
    }
  }

  std::span<const std::uint64_t> addresses_;
  std::vector<std::optional<LineRow>>& rows_;
  std::size_t next_ = 0;
  std::uint64_t address_ = 0;
  LineRow row_;
  bool in_sequence_ = false;
};

}  // namespace

std::vector<std::optional<LineRow>> LineProgram::find(std::span<const std::uint64_t> addresses) const {
  std::vector<std::optional<LineRow>> rows(addresses.size());
  Matcher matcher(addresses, rows);
  ByteReader program(program_);
  std::uint64_t address = 0;
  std::uint64_t operation = 0;
  std::uint32_t line = 1;
  std::uint32_t file = 1;
  const auto advance = [&](std::uint64_t operations) {
    if (maximum_operations_ == 1) {
      address += operations * minimum_instruction_;
    } else {
      address += minimum_instruction_ * ((operation + operations) / maximum_operations_);
      operation = (operation + operations) % maximum_operations_;
    }
  };
  const auto reset = [&] { address = operation = 0, line = file = 1; };

  while (!program.at_end()) {
    const std::uint8_t opcode = program.u8();
    if (opcode >= opcode_base_) {
      const unsigned adjusted = opcode - opcode_base_;
      advance(adjusted / line_range_);
      line += static_cast<std::uint32_t>(line_base_ + static_cast<int>(adjusted % line_range_));
      matcher.row(address, {file, line});
      continue;
    }
    switch (opcode) {
      case 0: {
        ByteReader extended(program.take(program.uleb()));
        switch (extended.u8()) {
          case DW_LNE_end_sequence:
            matcher.end_sequence(address);
            reset();
            break;
          case DW_LNE_set_address:
            address = address_bytes_ == 8 ? extended.u64() : extended.u32();
            operation = 0;
            break;
          default:
            break;
        }
        break;
      }
      case DW_LNS_copy:
        matcher.row(address, {file, line});
        break;
      case DW_LNS_advance_pc:
        advance(program.uleb());
        break;
      case DW_LNS_advance_line:
        line += static_cast<std::uint32_t>(program.sleb());
        break;
      case DW_LNS_set_file:
        file = static_cast<std::uint32_t>(program.uleb());
        break;
      case DW_LNS_const_add_pc:
        advance((255u - opcode_base_) / line_range_);
        break;
      case DW_LNS_fixed_advance_pc:
        address += program.u16();
        operation = 0;
        break;
      default:  // without meaning here, or newer than this code: its operands are counted in the header
        for (unsigned i = 0; i < operand_counts_[opcode]; ++i) program.uleb();
    }
  }
  return rows;
}

}  // namespace tare::core
