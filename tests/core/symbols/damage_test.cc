// Cut and bit-flipped ELF files: any answer will do, a crash or a hang won't. The fuzz target looks deeper.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/symbols/dwarf_file.h"
#include "core/symbols/elf_file.h"
#include "core/symbols/elf_symbols.h"
#include "core/symbols/function_extents.h"
#include "support.h"

namespace tare::core {
namespace {

using namespace testing;

void look_up(std::string bytes, const std::vector<std::uint64_t>& addresses) {
  auto file = ElfFile::from_bytes(std::move(bytes), "damaged");
  if (!file) return;
  ElfSymbols symbols;
  symbols.add(**file);
  symbols.find(addresses);
  symbols.find(addresses);
  const FunctionExtents extents(**file);
  for (const std::uint64_t address : addresses) extents.find(address);
  auto dwarf = DwarfFile::open(**file, nullptr);
  if (!dwarf) return;
  for (const DwarfFile::Found& found : (*dwarf)->find(addresses)) {
    for (const DwarfFrame& frame : found.frames) found.unit->path(frame);
  }
}

// An ELF file of one compressed section, .debug_info, which claims to be so large.
std::string elf_with_debug_info(std::uint64_t claimed_bytes) {
  const std::string_view names("\0.debug_info\0.shstrtab\0", 23);
  Elf64_Chdr packed = {};
  packed.ch_type = ELFCOMPRESS_ZLIB;
  packed.ch_size = claimed_bytes;
  packed.ch_addralign = 1;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  const std::uint64_t data = sizeof header;
  const std::uint64_t data_bytes = 1 << 20;
  header.e_shoff = data + data_bytes + 64;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_flags = SHF_COMPRESSED;
  sections[1].sh_offset = data;
  sections[1].sh_size = data_bytes;
  sections[1].sh_addralign = 1;
  sections[2].sh_name = 13;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = data + data_bytes;
  sections[2].sh_size = names.size();
  sections[2].sh_addralign = 1;
  std::string file(header.e_shoff + sizeof sections, '\0');
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + data, &packed, sizeof packed);
  std::memcpy(file.data() + data + data_bytes, names.data(), names.size());
  std::memcpy(file.data() + header.e_shoff, sections, sizeof sections);
  return file;
}

TEST(DamageOfSizes, SectionsThatExpandTooFarAreRefused) {
  auto file = ElfFile::from_bytes(elf_with_debug_info(900 << 20), "expanding");
  ASSERT_TRUE(file) << file.error().message;
  for (const DebugUse use : {DebugUse::Names, DebugUse::Types, DebugUse::Everything}) {
    const Status readable = (*file)->hide_unused_debug_sections(use);
    ASSERT_FALSE(readable);
    for (const char* part : {"expanding", ".debug_info", "offset 64", "expands"})
      EXPECT_NE(readable.error().message.find(part), std::string::npos) << readable.error().message;
  }
  const auto dwarf = DwarfFile::open(**file, nullptr);
  ASSERT_FALSE(dwarf);
  EXPECT_NE(dwarf.error().message.find("expands"), std::string::npos) << dwarf.error().message;
  auto usual = ElfFile::from_bytes(elf_with_debug_info(5 << 20), "usual");
  ASSERT_TRUE(usual);
  EXPECT_TRUE((*usual)->hide_unused_debug_sections(DebugUse::Names));
}

class Damage : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bytes_ = read_all(fixture(GetParam()));
    addresses_ = function_addresses(fixture(GetParam()), 40);
    std::sort(addresses_.begin(), addresses_.end());
    addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
  }
  std::string bytes_;
  std::vector<std::uint64_t> addresses_;
};

TEST_P(Damage, Cut) {
  for (std::size_t size = 0; size < 200; ++size) look_up(bytes_.substr(0, size), addresses_);
  for (int i = 1; i < 100; ++i)
    look_up(bytes_.substr(0, bytes_.size() * static_cast<std::size_t>(i) / 100), addresses_);
}

TEST_P(Damage, FlippedBits) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bad = bytes_;
    const int flips = 1 << (random() % 8);
    for (int i = 0; i < flips; ++i) {
      // Half of them in the headers at both ends, where they hurt most.
      const std::size_t at = round % 2 == 0      ? random() % bad.size()
                             : random() % 2 == 0 ? random() % 1024
                                                 : bad.size() - 1 - random() % 4096;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
    }
    look_up(std::move(bad), addresses_);
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Damage, ::testing::Values("dwarf5", "dwarf4", "compressed"),
                         [](const auto& fixture_name) { return std::string(fixture_name.param); });

}  // namespace
}  // namespace tare::core
