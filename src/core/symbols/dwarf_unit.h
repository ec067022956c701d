// One compilation unit: its functions by address, and the chain of inlined calls inside one.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/symbols/line_program.h"

namespace tare::core {

// As DWARF has it: names point into the file's sections, file numbers into the unit's line program.
struct DwarfFrame {
  std::string_view linkage_name;
  std::string_view name;
  std::optional<std::uint32_t> file;
  std::uint32_t line = 0;  // 0: unknown
};

class DwarfUnit {
 public:
  // `unit_die` leads to the lines, `functions_die` to the functions: the same, but for split DWARF.
  DwarfUnit(Dwarf_Die unit_die, Dwarf_Die functions_die, const LineSections& sections);

  // frames[i] belong to addresses[i] (ascending), innermost first. The last is the function itself, or a frame without
  // names if only the line table has the address (assembly). Empty: the unit doesn't have the address.
  std::vector<std::vector<DwarfFrame>> find(std::span<const std::uint64_t> addresses);

  std::string path(const DwarfFrame& frame) const {
    return lines_ && frame.file ? lines_->path(*frame.file) : std::string();
  }

 private:
  enum class Depth : std::uint8_t { NamespacesOnly, Everything };
  struct Function {
    std::uint64_t low;
    std::uint64_t high;
    Dwarf_Off die;
  };
  void index_functions(Depth depth);
  const Function* function_at(std::uint64_t address) const;
  std::vector<std::vector<DwarfFrame>> chains(const Function& function, std::span<const std::uint64_t> addresses);

  Dwarf_Die die_;
  std::optional<LineProgram> lines_;
  std::vector<Function> functions_;  // by low; overlaps only where functions nest or were folded
  std::optional<Depth> indexed_;
};

}  // namespace tare::core
