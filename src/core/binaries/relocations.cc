// Reads Elf64_Rela and relative relocations as bitmaps (the gABI's SHT_RELR) in place.
#include "core/binaries/relocations.h"

#include <elf.h>
#include <gelf.h>

#include <bit>

#include "core/symbols/byte_reader.h"

namespace tare::core {
namespace {

// Newer than some systems' elf.h.
constexpr std::uint32_t kSectionRelr = 19;
constexpr std::uint32_t kSectionAndroidRela = 0x60000002;
constexpr std::uint32_t kSectionAndroidRelr = 0x6fffff00;
constexpr std::uint64_t kBitmapBits = 63;
constexpr std::uint64_t kBitmapBytes = kBitmapBits * 8;

bool is_relative(std::uint16_t machine, std::uint64_t info) {
  const auto type = static_cast<std::uint32_t>(info);
  switch (machine) {
    case EM_X86_64:
      return type == R_X86_64_RELATIVE;
    case EM_AARCH64:
      return type == R_AARCH64_RELATIVE;
    case EM_RISCV:
      return type == R_RISCV_RELATIVE;
    default:
      return false;
  }
}

void visit_rela(std::string_view bytes, std::uint16_t machine, RelocationKind symbolic,
                const std::function<void(const Relocation&)>& visit) {
  ByteReader reader(bytes);
  while (reader.left() >= kRelaEntryBytes) {
    const std::uint64_t address = reader.u64();
    const std::uint64_t info = reader.u64();
    reader.u64();                                         // the addend
    if (static_cast<std::uint32_t>(info) == 0) continue;  // of no type: linkers leave such behind
    visit({address, is_relative(machine, info) ? RelocationKind::Relative : symbolic});
  }
}

void visit_relr(std::string_view bytes, const std::function<void(const Relocation&)>& visit) {
  ByteReader reader(bytes);
  std::uint64_t base = 0;
  while (reader.left() >= 8) {
    const std::uint64_t word = reader.u64();
    if ((word & 1) == 0) {
      visit({word, RelocationKind::Packed});
      base = word + 8;
      continue;
    }
    for (std::uint64_t bits = word >> 1; bits != 0; bits &= bits - 1) {
      visit({base + 8 * static_cast<std::uint64_t>(std::countr_zero(bits)), RelocationKind::Packed});
    }
    base += kBitmapBytes;
  }
}

}  // namespace

Result<RelocationSections> for_each_relocation(const ElfFile& file,
                                               const std::function<void(const Relocation&)>& visit) {
  const std::string& path = file.stamp().path;
  GElf_Ehdr header;
  std::size_t names = 0;
  if (gelf_getehdr(file.elf(), &header) == nullptr || elf_getshdrstrndx(file.elf(), &names) != 0)
    return Error{ErrorKind::Io, path + ": its ELF headers are damaged"};
  if (header.e_type == ET_REL)
    return Error{
        ErrorKind::Usage,
        path +
            " is an object file, which has no dynamic relocations: give the program or library that it is linked into"};
  RelocationSections sections;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr facts;
    if (gelf_getshdr(section, &facts) == nullptr || (facts.sh_flags & SHF_ALLOC) == 0) continue;
    const bool is_rela = facts.sh_type == SHT_RELA;
    const bool is_relr = facts.sh_type == kSectionRelr || facts.sh_type == kSectionAndroidRelr;
    if (facts.sh_type == kSectionAndroidRela) sections.unread_bytes += facts.sh_size;
    if (!is_rela && !is_relr) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || (data->d_buf == nullptr && facts.sh_size != 0)) {
      return Error{ErrorKind::Io, path + ": its relocations lie beyond the end of the file"};
    }
    const std::string_view bytes(static_cast<const char*>(data->d_buf), data->d_size);
    if (is_relr) {
      sections.relr_bytes += bytes.size();
      visit_relr(bytes, visit);
      continue;
    }
    const char* name = elf_strptr(file.elf(), names, facts.sh_name);
    const bool is_call_table = name != nullptr && std::string_view(name) == ".rela.plt";
    (is_call_table ? sections.call_table_bytes : sections.rela_bytes) += bytes.size();
    visit_rela(bytes, header.e_machine, is_call_table ? RelocationKind::CallTable : RelocationKind::Symbolic, visit);
  }
  return sections;
}

void RelrSize::add(std::uint64_t address) {
  while (words_ != 0) {
    const std::uint64_t distance = address - base_;
    if (address >= base_ && distance < kBitmapBytes && distance % 8 == 0) {
      bitmap_is_empty_ = false;
      return;
    }
    if (bitmap_is_empty_) break;
    ++words_;
    base_ += kBitmapBytes;
    bitmap_is_empty_ = true;
  }
  ++words_;
  base_ = address + 8;
}

}  // namespace tare::core
