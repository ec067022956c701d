// Symbols by address: inside a symbol or nothing, and always the same one of several.
#include "core/symbols/elf_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tare::core {
namespace {

struct Made {
  const char* name;
  std::uint64_t value;
  std::uint64_t size;
  unsigned char binding = STB_GLOBAL;
  unsigned char type = STT_FUNC;
  std::uint16_t section = 1;
};

// An ELF file of one code section and a .symtab.
std::string elf_with(const std::vector<Made>& symbols) {
  std::string names(1, '\0');
  std::string table(sizeof(Elf64_Sym), '\0');
  for (const Made& made : symbols) {
    Elf64_Sym symbol = {};
    symbol.st_name = static_cast<std::uint32_t>(names.size());
    names += made.name;
    names += '\0';
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(made.binding, made.type));
    symbol.st_shndx = made.section;
    symbol.st_value = made.value;
    symbol.st_size = made.size;
    table.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
  }
  const std::string section_names("\0.text\0.symtab\0.strtab\0.shstrtab\0", 33);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5;
  header.e_shstrndx = 4;
  std::string file(sizeof header, '\0');
  const auto append = [&](const std::string& bytes) {
    file.resize((file.size() + 7) & ~std::size_t{7});
    const std::uint64_t offset = file.size();
    file += bytes;
    return offset;
  };
  std::vector<Elf64_Shdr> sections(5);
  sections[1] = {1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0, 0x1000, 0, 0, 16, 0};
  sections[2] = {7, SHT_SYMTAB, 0, 0, append(table), table.size(), 3, 1, 8, sizeof(Elf64_Sym)};
  sections[3] = {15, SHT_STRTAB, 0, 0, append(names), names.size(), 0, 0, 1, 0};
  sections[4] = {23, SHT_STRTAB, 0, 0, append(section_names), section_names.size(), 0, 0, 1, 0};
  header.e_shoff =
      append(std::string(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr)));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

// Both ways to look up must agree: the scan of the first batch and the index of later ones.
std::string name_at(const std::vector<Made>& made, std::uint64_t address) {
  auto file = ElfFile::from_bytes(elf_with(made), "made");
  if (!file) return file.error().message;
  ElfSymbols symbols;
  symbols.add(**file);
  const std::vector<std::uint64_t> asked = {address};
  const std::string scanned(symbols.find(asked).front().name);
  const std::string indexed(symbols.find(asked).front().name);
  EXPECT_EQ(scanned, indexed);
  return scanned;
}

TEST(ElfSymbols, NearestLowerSymbolIsNoName) {
  const std::vector<Made> made = {{"inflateBackEnd", 0x1000, 0x10}, {"next", 0x1100, 0x10}};
  EXPECT_EQ(name_at(made, 0x0fff), "");
  EXPECT_EQ(name_at(made, 0x1000), "inflateBackEnd");
  EXPECT_EQ(name_at(made, 0x100f), "inflateBackEnd");
  EXPECT_EQ(name_at(made, 0x1010), "");
  EXPECT_EQ(name_at(made, 0x10ff), "");
  EXPECT_EQ(name_at(made, 0x110f), "next");
  EXPECT_EQ(name_at(made, 0x1110), "");
}

TEST(ElfSymbols, SymbolsWithoutSizeAreNoNames) { EXPECT_EQ(name_at({{"label", 0x1000, 0}}, 0x1000), ""); }

TEST(ElfSymbols, DataAndUndefinedSymbolsAreNoFunctions) {
  EXPECT_EQ(name_at({{"data", 0x1000, 0x10, STB_GLOBAL, STT_OBJECT}}, 0x1004), "");
  EXPECT_EQ(name_at({{"import", 0x1000, 0x10, STB_GLOBAL, STT_FUNC, SHN_UNDEF}}, 0x1004), "");
  EXPECT_EQ(name_at({{"untyped_code", 0x1000, 0x10, STB_GLOBAL, STT_NOTYPE}}, 0x1004), "untyped_code");
  EXPECT_EQ(name_at({{"untyped_data", 0x1000, 0x10, STB_GLOBAL, STT_NOTYPE, 3}}, 0x1004), "");
}

TEST(ElfSymbols, AliasesAreChosenTheSameWhateverTheirOrder) {
  std::vector<Made> made = {
      {"__libc_malloc", 0x1000, 0x40}, {"malloc", 0x1000, 0x40}, {"__malloc", 0x1000, 0x40, STB_LOCAL}};
  EXPECT_EQ(name_at(made, 0x1020), "malloc");
  std::swap(made[0], made[2]);
  EXPECT_EQ(name_at(made, 0x1020), "malloc");
  std::swap(made[0], made[1]);
  EXPECT_EQ(name_at(made, 0x1020), "malloc");
  EXPECT_EQ(name_at({{"cfree@GLIBC_2.2.5", 0x1000, 8}, {"free", 0x1000, 8}}, 0x1000), "free");
  EXPECT_EQ(name_at({{"only@@V1", 0x1000, 8}}, 0x1000), "only");
}

TEST(ElfSymbols, InnerSymbolBeforeTheOneAroundIt) {
  const std::vector<Made> made = {{"outer", 0x1000, 0x100}, {"inner", 0x1040, 0x10}};
  EXPECT_EQ(name_at(made, 0x1044), "inner");
  EXPECT_EQ(name_at(made, 0x1050), "outer");
}

TEST(ElfSymbols, SizesThatWrapAreIgnored) { EXPECT_EQ(name_at({{"huge", 0x1000, ~std::uint64_t{0}}}, 0x2000), ""); }

}  // namespace
}  // namespace tare::core
