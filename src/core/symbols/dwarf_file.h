// The debug information of one ELF file: finds the units of addresses and searches them.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/symbols/dwarf_unit.h"
#include "core/symbols/elf_file.h"
#include "trace/base/result.h"

namespace tare::core {

class DwarfFile {
 public:
  // `file` and `alternate` (dwz's common file; may be null) must outlive the result.
  static Result<std::unique_ptr<DwarfFile>> open(ElfFile& file, ElfFile* alternate);
  ~DwarfFile();
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;

  struct Found {
    std::vector<DwarfFrame> frames;  // empty: unknown
    const DwarfUnit* unit = nullptr;
  };
  // found[i] is for addresses[i] (ascending, no duplicates).
  std::vector<Found> find(std::span<const std::uint64_t> addresses);

 private:
  struct UnitRange {
    std::uint64_t low;
    std::uint64_t high;
    Dwarf_Off die;
  };
  DwarfFile() = default;
  std::optional<Dwarf_Off> unit_at(std::uint64_t address);
  void scan_units();
  DwarfUnit* unit(Dwarf_Off die);  // null if damaged

  Dwarf* dwarf_ = nullptr;
  Dwarf* alternate_ = nullptr;
  LineSections sections_;
  Dwarf_Aranges* aranges_ = nullptr;
  std::optional<std::vector<UnitRange>> scanned_;  // by low
  std::unordered_map<Dwarf_Off, std::unique_ptr<DwarfUnit>> units_;
};

}  // namespace tare::core
