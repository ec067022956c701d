// Maps ELF files privately, so that section headers can be edited in memory before libdw sees them.
#include "core/symbols/elf_file.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "trace/base/expansion.h"

namespace tare::core {
namespace {

constexpr std::array<std::string_view, 13> kUnusedDebugSections = {
    ".debug_loc",          ".debug_loclists", ".debug_macro",    ".debug_macinfo", ".debug_pubnames",
    ".debug_pubtypes",     ".debug_names",    ".debug_frame",    ".gdb_index",     ".debug_gnu_pubnames",
    ".debug_gnu_pubtypes", ".debug_cu_index", ".debug_tu_index",
};
constexpr std::array<std::string_view, 1> kTypesOnly = {".debug_types"};
// The link to dwz's file: unless one is set, libdw would open any file that it names, even a FIFO.
constexpr std::array<std::string_view, 4> kAddressesOnly = {".debug_ranges", ".debug_rnglists", ".debug_aranges",
                                                            ".gnu_debugaltlink"};

bool is_one_of(std::span<const std::string_view> sections, std::string_view name) {
  for (const std::string_view section : sections) {
    if (name == section) return true;
    if (name.starts_with(".zdebug_") && name.substr(2) == section.substr(1)) return true;
  }
  return false;
}

bool is_unused(std::string_view name, DebugUse use) {
  if (use == DebugUse::Everything) return false;
  if (is_one_of(kUnusedDebugSections, name)) return true;
  return use == DebugUse::Names ? is_one_of(kTypesOnly, name) : is_one_of(kAddressesOnly, name);
}

Error unreadable(const std::string& path, const std::string& what, ErrorKind kind = ErrorKind::NotABinary) {
  return Error{kind, "cannot read symbols of " + path + ": " + what};
}

}  // namespace

std::string to_hex(const BuildId& id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(id.size() * 2);
  for (const std::uint8_t byte : id) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Result<std::unique_ptr<ElfFile>> ElfFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a FIFO of that name must not hang us.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return unreadable(path, std::strerror(errno), ErrorKind::Io);
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < static_cast<off_t>(sizeof(Elf64_Ehdr))) {
    ::close(fd);
    return unreadable(path, "not an ELF file");
  }
  const auto bytes = static_cast<std::size_t>(info.st_size);
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->mapping_ = trace::GuardedMapping(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  const int error = errno;
  ::close(fd);
  if (file->mapping_.data() == nullptr) return unreadable(path, std::strerror(error), ErrorKind::Io);
  file->image_ = static_cast<char*>(file->mapping_.data());
  file->image_bytes_ = bytes;
  FileStamp stamp{path.string(), bytes, info.st_mtim.tv_sec * 1'000'000'000ll + info.st_mtim.tv_nsec};
  if (Status attached = file->attach(std::move(stamp)); !attached) return attached.error();
  return file;
}

Result<std::unique_ptr<ElfFile>> ElfFile::from_bytes(std::string bytes, std::string name) {
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->owned_ = std::move(bytes);
  file->image_ = file->owned_.data();
  file->image_bytes_ = file->owned_.size();
  FileStamp stamp{std::move(name), file->image_bytes_, 0};
  if (Status attached = file->attach(std::move(stamp)); !attached) return attached.error();
  return file;
}

ElfFile::~ElfFile() {
  if (elf_ != nullptr) elf_end(elf_);
}

Status ElfFile::attach(FileStamp stamp) {
  stamp_ = std::move(stamp);
  constexpr std::string_view kArchive = "!<arch>\n";
  if (image().starts_with(kArchive))
    return unreadable(stamp_.path, "an archive of object files: unpack it with `ar x` and name those");
  if (image_bytes_ < sizeof(Elf64_Ehdr) || std::memcmp(image_, ELFMAG, SELFMAG) != 0 ||
      image_[EI_CLASS] != ELFCLASS64 || image_[EI_DATA] != ELFDATA2LSB) {
    return unreadable(stamp_.path, "not a 64-bit little-endian ELF file");
  }
  elf_version(EV_CURRENT);
  elf_ = elf_memory(image_, image_bytes_);
  if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF) return unreadable(stamp_.path, "damaged ELF header");
  const void* id = nullptr;
  const ssize_t id_bytes = dwelf_elf_gnu_build_id(elf_, &id);
  if (id_bytes > 0) {
    const auto* bytes = static_cast<const std::uint8_t*>(id);
    build_id_.assign(bytes, bytes + id_bytes);
  }
  return ok();
}

namespace {

Elf_Scn* find_section(Elf* elf, std::string_view wanted, GElf_Shdr* header) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    if (gelf_getshdr(section, header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header->sh_name);
    if (name != nullptr && wanted == name) return section;
  }
  return nullptr;
}

bool is_debug(std::string_view name) { return name.starts_with(".debug_") || name.starts_with(".zdebug_"); }

// The size of a section after libdw has unpacked it.
std::uint64_t unpacked_bytes(Elf_Scn* section, const GElf_Shdr& header, std::string_view name) {
  if (header.sh_type == SHT_NOBITS) return 0;
  GElf_Chdr packed;
  if ((header.sh_flags & SHF_COMPRESSED) != 0 && gelf_getchdr(section, &packed) != nullptr) return packed.ch_size;
  if (!name.starts_with(".zdebug_")) return 0;  // it stays where it is
  const Elf_Data* const data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_size < 12) return 0;
  // "ZLIB", then the size with its highest byte first.
  std::uint64_t bytes = 0;
  for (int i = 4; i < 12; ++i) bytes = bytes << 8 | static_cast<const std::uint8_t*>(data->d_buf)[i];
  return bytes;
}

}  // namespace

bool ElfFile::has_section(std::string_view name) const {
  GElf_Shdr header;
  return find_section(elf_, name, &header) != nullptr && header.sh_type != SHT_NOBITS;
}

std::optional<std::uint64_t> ElfFile::section_address(std::string_view name) const {
  GElf_Shdr header;
  if (find_section(elf_, name, &header) == nullptr) return std::nullopt;
  return header.sh_addr;
}

std::string_view ElfFile::section(std::string_view name) const {
  GElf_Shdr header;
  Elf_Scn* section = find_section(elf_, name, &header);
  if (section == nullptr || header.sh_type == SHT_NOBITS) return {};
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

Status ElfFile::hide_unused_debug_sections(DebugUse use) {
  // libelf may have read the headers already; it must see the edited ones.
  Elf64_Ehdr header;
  std::memcpy(&header, image_, sizeof header);
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff == 0) return ok();
  bool edited = false;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return ok();
  // Debug sections compress to a third. libdw takes some 200 bytes for a unit of 13: less than other files may expand
  // to.
  trace::ExpansionBudget budget(trace::files_are_trusted() ? ~std::uint64_t{0}
                                                           : (std::uint64_t{8} << 20) + 12 * image_bytes_);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr in_memory;
    if (gelf_getshdr(section, &in_memory) == nullptr) continue;
    const char* name = elf_strptr(elf_, names, in_memory.sh_name);
    const std::uint64_t offset = header.e_shoff + elf_ndxscn(section) * sizeof(Elf64_Shdr);
    if (name == nullptr) continue;
    if (!is_unused(name, use)) {
      // Sections may lie over each other: the same bytes count for each.
      if (is_debug(name) && !budget.take(1, 0, unpacked_bytes(section, in_memory, name))) {
        return Error{ErrorKind::Corrupt, "cannot read debug information of " + stamp_.path + ": section " + name +
                                             " at offset " + std::to_string(in_memory.sh_offset) +
                                             " expands to more memory than the file's size allows" +
                                             trace::how_to_trust()};
      }
      continue;
    }
    if (offset > image_bytes_ - sizeof(Elf64_Shdr)) continue;
    const std::uint32_t type = SHT_NOBITS;
    std::memcpy(image_ + offset + offsetof(Elf64_Shdr, sh_type), &type, sizeof type);
    edited = true;
  }
  if (!edited) return ok();
  elf_end(elf_);
  elf_ = elf_memory(image_, image_bytes_);
  return ok();
}

}  // namespace tare::core
