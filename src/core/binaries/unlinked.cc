// Sums of a symbol's value and an addend, 4 or 8 bytes wide: debug sections of x86-64 and aarch64 have little else.
#include "core/binaries/unlinked.h"

#include <elf.h>
#include <gelf.h>

#include <cstring>
#include <iterator>
#include <string_view>

#include "core/binaries/relocations.h"
#include "core/symbols/byte_reader.h"

namespace tare::core {
namespace {

std::size_t width_of(std::uint16_t machine, std::uint32_t type) {
  if (machine == EM_X86_64) {
    if (type == R_X86_64_64) return 8;
    return type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
  }
  if (type == R_AARCH64_ABS64) return 8;
  return type == R_AARCH64_ABS32 ? 4 : 0;
}

// The bytes for libdw; null if there are none or the section's header is invalid.
Elf_Data* decompressed(Elf_Scn* section, const GElf_Shdr& header, std::string_view name) {
  if (header.sh_type == SHT_NOBITS) return nullptr;
  if ((header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(section, 0, 0) < 0) return nullptr;
  if (name.starts_with(".zdebug_") && elf_compress_gnu(section, 0, 0) < 0) return nullptr;
  Elf_Data* const data = elf_rawdata(section, nullptr);
  return data == nullptr || data->d_buf == nullptr ? nullptr : data;
}

void apply(std::string_view relocations, std::uint16_t machine, Elf_Data* symbols, const Elf_Data& to) {
  ByteReader reader(relocations);
  while (reader.left() >= kRelaEntryBytes) {
    const std::uint64_t offset = reader.u64();
    const std::uint64_t info = reader.u64();
    const std::uint64_t addend = reader.u64();
    const std::size_t width = width_of(machine, static_cast<std::uint32_t>(info));
    GElf_Sym symbol;
    if (width == 0 || to.d_size < width || offset > to.d_size - width) continue;
    if (info >> 32 > INT32_MAX || gelf_getsym(symbols, static_cast<int>(info >> 32), &symbol) == nullptr) continue;
    const std::uint64_t value = symbol.st_value + addend;
    std::memcpy(static_cast<char*>(to.d_buf) + offset, &value, width);  // little-endian, as the file
  }
}

// Sections of one name that hold units: all the file has of them, in groups or not.
struct UnitSections {
  std::string_view name;
  std::vector<Elf_Scn*> grouped;
  Elf_Scn* plain = nullptr;
};

void give(Elf_Data* data, std::string& bytes) {
  if (data == nullptr) return;
  data->d_buf = bytes.data();
  data->d_size = bytes.size();
}

// Behind one another in the one that libdw reads: the plain one, else the first of a group, which is made plain.
std::string join(const UnitSections& sections) {
  std::string joined;
  const auto append = [&](Elf_Scn* section) {
    const Elf_Data* const data = elf_rawdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr) joined.append(static_cast<const char*>(data->d_buf), data->d_size);
  };
  if (sections.plain != nullptr) append(sections.plain);
  for (Elf_Scn* each : sections.grouped) append(each);
  return joined;
}

void show(Elf_Scn* section, std::string& bytes) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr) return;
  header.sh_flags &= ~std::uint64_t{SHF_GROUP};
  gelf_update_shdr(section, &header);
  give(elf_rawdata(section, nullptr), bytes);
  give(elf_getdata(section, nullptr), bytes);
}

// Types of DWARF 4 lie in .debug_types, of DWARF 5 in .debug_info.
std::vector<std::string> join_type_sections(Elf* elf) {
  UnitSections found[] = {{".debug_info", {}, nullptr}, {".debug_types", {}, nullptr}};
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    for (UnitSections& each : found) {
      if (name == nullptr || name != each.name) continue;
      if (decompressed(section, header, name) == nullptr) continue;
      if ((header.sh_flags & SHF_GROUP) != 0) {
        each.grouped.push_back(section);
      } else if (each.plain == nullptr) {
        each.plain = section;
      }
    }
  }
  std::vector<std::string> kept;
  kept.reserve(std::size(found));  // relocations refer to it
  for (const UnitSections& each : found) {
    if (each.grouped.empty()) continue;
    kept.push_back(join(each));
    show(each.plain != nullptr ? each.plain : each.grouped.front(), kept.back());
  }
  return kept;
}

}  // namespace

bool is_unlinked(const ElfFile& file) {
  GElf_Ehdr header;
  return gelf_getehdr(file.elf(), &header) != nullptr && header.e_type == ET_REL;
}

Result<std::vector<std::string>> link_debug_sections(const ElfFile& file) {
  Elf* const elf = file.elf();
  GElf_Ehdr header;
  std::size_t names = 0;
  if (gelf_getehdr(elf, &header) == nullptr || elf_getshdrstrndx(elf, &names) != 0)
    return Error{ErrorKind::Corrupt, file.stamp().path + ": its ELF headers are damaged"};
  if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) {
    return Error{ErrorKind::NotABinary,
                 file.stamp().path +
                     " is an object file for a processor whose relocations Tare doesn't know: give "
                     "the program or library that it is linked into"};
  }
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr facts;
    if (gelf_getshdr(section, &facts) == nullptr || facts.sh_type != SHT_RELA) continue;
    Elf_Scn* const target = elf_getscn(elf, facts.sh_info);
    Elf_Scn* const table = elf_getscn(elf, facts.sh_link);
    GElf_Shdr to;
    if (target == nullptr || table == nullptr || gelf_getshdr(target, &to) == nullptr) continue;
    const char* const name = elf_strptr(elf, names, to.sh_name);
    if (name == nullptr || (to.sh_flags & SHF_ALLOC) != 0) continue;
    const std::string_view target_name(name);
    if (!target_name.starts_with(".debug_") && !target_name.starts_with(".zdebug_")) continue;
    Elf_Data* const bytes = decompressed(target, to, target_name);
    Elf_Data* const symbols = elf_getdata(table, nullptr);
    const Elf_Data* const relocations = elf_rawdata(section, nullptr);
    if (bytes == nullptr || symbols == nullptr || relocations == nullptr || relocations->d_buf == nullptr) continue;
    apply({static_cast<const char*>(relocations->d_buf), relocations->d_size}, header.e_machine, symbols, *bytes);
  }
  return join_type_sections(elf);
}

}  // namespace tare::core
