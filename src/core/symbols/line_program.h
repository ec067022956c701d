// Runs one .debug_line program for a handful of addresses, without keeping its rows.
//
// For one look-up, libdw materialises and sorts every row of a unit (100 bytes each). A unit of a
// whole-program-optimised binary has hundreds of thousands of rows, and a report needs a few. DWARF 2 to 5.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/symbols/byte_reader.h"

namespace tare::core {

struct LineSections {
  std::string_view line;      // .debug_line, decompressed
  std::string_view line_str;  // .debug_line_str
  std::string_view str;       // .debug_str
};

struct LineRow {
  std::uint32_t file = 0;  // index as the program counts: see LineProgram::path
  std::uint32_t line = 0;  // 0: belongs to no line
};

class LineProgram {
 public:
  // nullopt if the header at `offset` of .debug_line makes no sense.
  static std::optional<LineProgram> parse(const LineSections& sections, std::uint64_t offset,
                                          std::string_view comp_dir);

  // rows[i] is that of addresses[i] (ascending); nullopt where no sequence covers it.
  std::vector<std::optional<LineRow>> find(std::span<const std::uint64_t> addresses) const;

  // Full path of file `index`, empty if there is none.
  std::string path(std::uint32_t index) const;

 private:
  struct File {
    std::string_view name;
    std::uint64_t directory = 0;
  };
  bool parse_old_tables(ByteReader& header);
  bool parse_tables(ByteReader& header, const LineSections& sections, unsigned offset_bytes);

  std::string_view comp_dir_;
  std::string_view program_;
  std::vector<std::string_view> directories_;  // by number; [0] is the compilation directory
  std::vector<File> files_;                    // by number; before DWARF 5 [0] is empty
  std::vector<std::uint8_t> operand_counts_;
  std::uint8_t address_bytes_ = 8;
  std::uint8_t minimum_instruction_ = 1;
  std::uint8_t maximum_operations_ = 1;
  std::int8_t line_base_ = 0;
  std::uint8_t line_range_ = 1;
  std::uint8_t opcode_base_ = 1;
};

}  // namespace tare::core
