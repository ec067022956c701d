// Finds tables by the symbols of the Itanium C++ ABI and counts the relocations that lie in them.
#include "core/binaries/vtables.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "core/symbols/byte_reader.h"

namespace tare::core {
namespace {

enum class TableKind : std::uint8_t { Table, TypeInfo, TypeName, TableTable, ConstructionTable };

struct NamedTable {
  std::uint64_t begin;
  std::uint64_t end;
  TableKind kind;
  std::uint64_t relocations = 0;
};

struct AddressRange {
  std::uint64_t begin;
  std::uint64_t end;
};

std::optional<TableKind> kind_of(std::string_view name) {
  if (name.starts_with("_ZTV")) return TableKind::Table;
  if (name.starts_with("_ZTC")) return TableKind::ConstructionTable;
  if (name.starts_with("_ZTT")) return TableKind::TableTable;
  if (name.starts_with("_ZTI")) return TableKind::TypeInfo;
  if (name.starts_with("_ZTS")) return TableKind::TypeName;
  return std::nullopt;
}

bool is_made_relative(TableKind kind) { return kind == TableKind::Table || kind == TableKind::ConstructionTable; }

std::string_view bytes_of(Elf_Scn* section) {
  const Elf_Data* data = section == nullptr ? nullptr : elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

template <typename Visit>
void for_each_section(const ElfFile& file, const Visit& visit) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr facts;
    if (gelf_getshdr(section, &facts) != nullptr) visit(section, facts);
  }
}

// Address ranges that the loader maps from the file. Copies of other files' tables lie in .bss: they are those files'.
std::vector<AddressRange> loaded_ranges(const ElfFile& binary) {
  std::vector<AddressRange> ranges;
  for_each_section(binary, [&](Elf_Scn*, const GElf_Shdr& facts) {
    const bool fits = facts.sh_size <= binary.image().size() && facts.sh_addr <= UINT64_MAX - facts.sh_size;
    if ((facts.sh_flags & SHF_ALLOC) != 0 && facts.sh_type != SHT_NOBITS && fits)
      ranges.push_back({facts.sh_addr, facts.sh_addr + facts.sh_size});
  });
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return ranges;
}

bool is_loaded(const std::vector<AddressRange>& ranges, std::uint64_t begin, std::uint64_t end) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), begin,
                       [](std::uint64_t address, const AddressRange& range) { return address < range.begin; });
  return after != ranges.begin() && end <= std::prev(after)->end;
}

// Of symbol tables of type `wanted`; false: there is none.
bool add_tables(const ElfFile& file, std::uint32_t wanted, const std::vector<AddressRange>& ranges,
                std::vector<NamedTable>& tables) {
  bool found = false;
  for_each_section(file, [&](Elf_Scn* section, const GElf_Shdr& facts) {
    if (facts.sh_type != wanted) return;
    const std::string_view names = bytes_of(elf_getscn(file.elf(), facts.sh_link));
    ByteReader reader(bytes_of(section));
    found |= reader.left() > sizeof(Elf64_Sym);  // the first one is nothing
    while (reader.left() >= sizeof(Elf64_Sym)) {
      const auto symbol = reader.fixed<Elf64_Sym>();
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size())
        continue;
      const std::optional<TableKind> kind = kind_of(names.substr(symbol.st_name, 4));
      if (!kind || symbol.st_size == 0 || symbol.st_value > UINT64_MAX - symbol.st_size) continue;
      const std::uint64_t end = symbol.st_value + symbol.st_size;
      if (is_loaded(ranges, symbol.st_value, end)) tables.push_back({symbol.st_value, end, *kind});
    }
  });
  return found;
}

// Sorted by address; of several names for one address, and of overlapping tables, the first is kept.
void make_disjoint(std::vector<NamedTable>& tables) {
  std::sort(tables.begin(), tables.end(), [](const NamedTable& a, const NamedTable& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::uint64_t end = 0;
  std::erase_if(tables, [&](const NamedTable& table) {
    if (table.begin < end) return true;
    end = table.end;
    return false;
  });
}

NamedTable* table_at(std::vector<NamedTable>& tables, std::uint64_t address) {
  const auto after = std::upper_bound(tables.begin(), tables.end(), address,
                                      [](std::uint64_t at, const NamedTable& table) { return at < table.begin; });
  if (after == tables.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

VtableNames find_tables(const ElfFile& binary, const ElfFile* names_from, std::vector<NamedTable>& tables) {
  const std::vector<AddressRange> ranges = loaded_ranges(binary);
  if (add_tables(binary, SHT_SYMTAB, ranges, tables)) return VtableNames::Symbols;
  if (names_from != nullptr && add_tables(*names_from, SHT_SYMTAB, ranges, tables)) return VtableNames::Symbols;
  return add_tables(binary, SHT_DYNSYM, ranges, tables) ? VtableNames::Exports : VtableNames::Nothing;
}

VtableGroup& group_of(VtableCensus& census, TableKind kind) {
  switch (kind) {
    case TableKind::Table:
    case TableKind::ConstructionTable:
      return census.tables;
    case TableKind::TableTable:
      return census.table_tables;
    case TableKind::TypeInfo:
      return census.type_infos;
    default:
      return census.type_names;
  }
}

// Subtracts the words that relative tables need: one for each class's type information, with a relocation if its table
// had one.
void take_off_words(VtableCensus& census, std::uint64_t words) {
  RelativeVtableSaving& saving = census.saving;
  saving.table_bytes -= std::min(saving.table_bytes, 8 * words);
  const std::uint64_t relocations = std::min(saving.relocations, words);
  if (saving.relocation_bytes >= kRelaEntryBytes * saving.relocations)  // else they are packed: bits of a few words
    saving.relocation_bytes -= kRelaEntryBytes * relocations;
  saving.relocations -= relocations;
}

}  // namespace

Result<VtableCensus> count_vtables(const ElfFile& binary, const ElfFile* names_from) {
  VtableCensus census;
  std::vector<NamedTable> tables;
  census.names = find_tables(binary, names_from, tables);
  make_disjoint(tables);

  RelrSize packed_now;
  RelrSize packed_then;
  auto sections = for_each_relocation(binary, [&](const Relocation& relocation) {
    if (relocation.kind == RelocationKind::CallTable) return;
    ++census.relocations;
    NamedTable* table = table_at(tables, relocation.address);
    if (table != nullptr) ++table->relocations;
    const bool is_saved =
        table != nullptr && is_made_relative(table->kind) && relocation.kind != RelocationKind::Symbolic;
    if (relocation.kind == RelocationKind::Packed) {
      packed_now.add(relocation.address);
      if (!is_saved) packed_then.add(relocation.address);
    } else if (is_saved) {
      census.saving.relocation_bytes += kRelaEntryBytes;
    }
    if (is_saved) ++census.saving.relocations;
  });
  if (!sections) return sections.error();
  census.sections = *sections;
  if (packed_now.bytes() > packed_then.bytes())
    census.saving.relocation_bytes += packed_now.bytes() - packed_then.bytes();

  GElf_Ehdr header;
  const bool is_movable = gelf_getehdr(binary.elf(), &header) != nullptr && header.e_type == ET_DYN;
  std::uint64_t classes = 0;  // whose tables aren't relative
  for (const NamedTable& table : tables) {
    VtableGroup& group = group_of(census, table.kind);
    ++group.count;
    group.bytes += table.end - table.begin;
    group.relocations += table.relocations;
    if (!is_made_relative(table.kind)) continue;
    // A table of addresses has at least one relocation where the file may lie anywhere: that of its first function.
    if (is_movable && table.relocations == 0 && census.sections.unread_bytes == 0) {
      ++census.relative_tables;
    } else {
      census.saving.table_bytes += (table.end - table.begin) / 2;
      classes += table.kind == TableKind::Table ? 1 : 0;
    }
  }
  take_off_words(census, std::min(classes, census.type_infos.count));
  return census;
}

}  // namespace tare::core
