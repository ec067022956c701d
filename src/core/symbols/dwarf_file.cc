// Opens DWARF through libdw and indexes units: by .debug_aranges, and by the units' own ranges for the rest.
#include "core/symbols/dwarf_file.h"

#include <dwarf.h>
#include <gelf.h>

#include <algorithm>
#include <tuple>

namespace tare::core {
namespace {

std::string_view decompressed(Elf* elf, std::string_view wanted) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr) continue;
    // libdw decompressed it in place; old GNU-compressed sections keep their .zdebug_ name.
    const std::string_view found(name);
    if (found != wanted && !(found.starts_with(".zdebug_") && found.substr(2) == wanted.substr(1))) continue;
    if ((header.sh_flags & SHF_COMPRESSED) != 0) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr) return {static_cast<const char*>(data->d_buf), data->d_size};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DwarfFile>> DwarfFile::open(ElfFile& file, ElfFile* alternate) {
  std::unique_ptr<DwarfFile> made(new DwarfFile);
  if (Status readable = file.hide_unused_debug_sections(DebugUse::Names); !readable) return readable.error();
  made->dwarf_ = dwarf_begin_elf(file.elf(), DWARF_C_READ, nullptr);
  if (made->dwarf_ == nullptr) {
    return Error{ErrorKind::Corrupt, "cannot read debug information of " + file.stamp().path + ": " + dwarf_errmsg(-1)};
  }
  if (alternate != nullptr && alternate->hide_unused_debug_sections(DebugUse::Names)) {
    made->alternate_ = dwarf_begin_elf(alternate->elf(), DWARF_C_READ, nullptr);
    if (made->alternate_ != nullptr) dwarf_setalt(made->dwarf_, made->alternate_);
  }
  made->sections_ = {decompressed(file.elf(), ".debug_line"), decompressed(file.elf(), ".debug_line_str"),
                     decompressed(file.elf(), ".debug_str")};
  std::size_t count = 0;
  if (dwarf_getaranges(made->dwarf_, &made->aranges_, &count) != 0) made->aranges_ = nullptr;
  return made;
}

DwarfFile::~DwarfFile() {
  units_.clear();
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
  if (alternate_ != nullptr) dwarf_end(alternate_);
}

std::optional<Dwarf_Off> DwarfFile::unit_at(std::uint64_t address) {
  if (aranges_ != nullptr) {
    Dwarf_Off die = 0;
    Dwarf_Arange* range = dwarf_getarange_addr(aranges_, address);
    if (range != nullptr && dwarf_getarangeinfo(range, nullptr, nullptr, &die) == 0) return die;
  }
  // Clang writes no .debug_aranges by default, and a program may hold objects of both compilers.
  if (!scanned_) scan_units();
  auto after = std::upper_bound(scanned_->begin(), scanned_->end(), address,
                                [](std::uint64_t a, const UnitRange& range) { return a < range.low; });
  if (after == scanned_->begin() || address >= std::prev(after)->high) return std::nullopt;
  return std::prev(after)->die;
}

void DwarfFile::scan_units() {
  scanned_.emplace();
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  Dwarf_Half version;
  std::uint8_t kind;
  while (dwarf_get_units(dwarf_, unit, &unit, &version, &kind, &die, nullptr) == 0) {
    if (kind != DW_UT_compile && kind != DW_UT_skeleton) continue;
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0;) {
      if (low != 0 && low < high) scanned_->push_back({low, high, dwarf_dieoffset(&die)});
    }
  }
  std::sort(scanned_->begin(), scanned_->end(),
            [](const UnitRange& a, const UnitRange& b) { return std::tie(a.low, a.die) < std::tie(b.low, b.die); });
}

DwarfUnit* DwarfFile::unit(Dwarf_Off offset) {
  const auto [known, is_new] = units_.try_emplace(offset);
  if (is_new) {
    Dwarf_Die die;
    if (dwarf_offdie(dwarf_, offset, &die) != nullptr) {
      // -gsplit-dwarf: lines and ranges are here, functions in the .dwo file that libdw finds by the unit's name and
      // id.
      Dwarf_Die split = {};
      const bool is_split = dwarf_cu_info(die.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
                            split.cu != nullptr;
      known->second = std::make_unique<DwarfUnit>(die, is_split ? split : die, sections_);
    }
  }
  return known->second.get();
}

std::vector<DwarfFile::Found> DwarfFile::find(std::span<const std::uint64_t> addresses) {
  // Addresses of one unit needn't be neighbours: a unit's cold parts lie elsewhere.
  struct Asked {
    Dwarf_Off unit;
    std::size_t at;
  };
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (const std::optional<Dwarf_Off> die = unit_at(addresses[i])) asked.push_back({*die, i});
  }
  std::sort(asked.begin(), asked.end(),
            [](const Asked& a, const Asked& b) { return std::tie(a.unit, a.at) < std::tie(b.unit, b.at); });
  std::vector<Found> found(addresses.size());
  std::vector<std::uint64_t> in_unit;
  for (std::size_t begin = 0; begin < asked.size();) {
    std::size_t end = begin;
    in_unit.clear();
    for (; end < asked.size() && asked[end].unit == asked[begin].unit; ++end)
      in_unit.push_back(addresses[asked[end].at]);
    if (DwarfUnit* from = unit(asked[begin].unit)) {
      std::vector<std::vector<DwarfFrame>> frames = from->find(in_unit);
      for (std::size_t i = begin; i < end; ++i) found[asked[i].at] = {std::move(frames[i - begin]), from};
    }
    begin = end;
  }
  return found;
}

}  // namespace tare::core
