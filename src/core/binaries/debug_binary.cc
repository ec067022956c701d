// Finds the files, hides sections that layouts don't need, and opens the rest with libdw.
#include "core/binaries/debug_binary.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/binaries/unlinked.h"
#include "core/symbols/debug_files.h"

namespace tare::core {
namespace {

// Debug sections compress to a third; a file that claims to be a hundred times its size is made to fill memory.
constexpr std::uint64_t kMostExpansion = 100;

std::string_view name_of(Elf* elf, std::size_t names, const GElf_Shdr& header) {
  const char* name = elf_strptr(elf, names, header.sh_name);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

// Bytes that the compressed sections claim to become.
std::uint64_t claimed_bytes(Elf* elf) {
  std::uint64_t claimed = 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    GElf_Chdr compression;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED) == 0) continue;
    if (gelf_getchdr(section, &compression) == nullptr) continue;
    claimed += std::min(compression.ch_size, ~std::uint64_t{0} / 65536);  // there are fewer than 65,536 sections
  }
  return claimed;
}

// As libdw does: sections are decompressed in place, and old GNU-compressed sections keep their .zdebug_ names.
std::string_view opened_section(Elf* elf, std::string_view wanted) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    if ((header.sh_flags & SHF_GROUP) != 0) continue;  // of object files: libdw passes over these, too
    const std::string_view found = name_of(elf, names, header);
    if (found != wanted && !(found.starts_with(".zdebug_") && found.substr(2) == wanted.substr(1))) continue;
    if ((header.sh_flags & SHF_COMPRESSED) != 0) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr) return {static_cast<const char*>(data->d_buf), data->d_size};
  }
  return {};
}

bool has_dwarf(const ElfFile& file) { return file.has_section(".debug_info") || file.has_section(".zdebug_info"); }

// Copies and downloads that broke off have lost their section headers, which lie at the end.
bool is_cut_off(const ElfFile& file) {
  GElf_Ehdr header;
  if (gelf_getehdr(file.elf(), &header) == nullptr) return false;
  return header.e_shoff > file.image().size() ||
         std::uint64_t{header.e_shnum} * header.e_shentsize > file.image().size() - header.e_shoff;
}

}  // namespace

Result<std::unique_ptr<DebugBinary>> DebugBinary::open(const std::filesystem::path& path,
                                                       std::span<const std::filesystem::path> debug_dirs) {
  Result<std::unique_ptr<DebugBinary>> found = find(path, debug_dirs);
  if (!found) return found.error();
  if (Status loaded = (*found)->load(); !loaded) return loaded.error();
  return found;
}

Result<std::unique_ptr<DebugBinary>> DebugBinary::find(const std::filesystem::path& path,
                                                       std::span<const std::filesystem::path> debug_dirs) {
  Result<std::unique_ptr<ElfFile>> binary = ElfFile::open(path);
  if (!binary) return binary.error();
  trace::Module module;
  module.path = path.string();
  module.build_id = (*binary)->build_id();
  DebugFiles files = find_debug_files(module, debug_dirs);
  ElfFile* const with_dwarf = files.with_dwarf();
  if (with_dwarf == nullptr && is_cut_off(**binary)) {
    return Error{ErrorKind::Corrupt,
                 path.string() + " is cut off: its section headers lie beyond its end; build or copy it again"};
  }
  if (with_dwarf == nullptr) {
    return Error{ErrorKind::NoDebugInfo, path.string() +
                                             " has no debug information, and no separate debug file for it "
                                             "is installed: build it with -g or install its debug package"};
  }
  std::unique_ptr<DebugBinary> made(new DebugBinary);
  made->path_ = path.string();
  made->fingerprint_ = files.fingerprint();
  made->binary_ = *std::move(binary);
  made->debug_ = with_dwarf == files.debug.get() ? std::move(files.debug) : std::move(files.binary);
  made->alternate_ = std::move(files.alternate);
  made->dwarf_path_ = made->with_dwarf().stamp().path;
  return made;
}

Result<std::unique_ptr<DebugBinary>> DebugBinary::from_bytes(std::string bytes, std::string name) {
  Result<std::unique_ptr<ElfFile>> binary = ElfFile::from_bytes(std::move(bytes), name);
  if (!binary) return binary.error();
  if (!has_dwarf(**binary)) return Error{ErrorKind::NoDebugInfo, name + " has no debug information"};
  std::unique_ptr<DebugBinary> made(new DebugBinary);
  made->path_ = std::move(name);
  made->binary_ = *std::move(binary);
  made->dwarf_path_ = made->with_dwarf().stamp().path;
  if (Status loaded = made->load(); !loaded) return loaded.error();
  return made;
}

Status DebugBinary::load() {
  ElfFile& file = with_dwarf();
  ElfFile* const alternate = alternate_.get();
  for (ElfFile* each : {&file, alternate}) {
    if (each == nullptr) continue;
    const std::uint64_t claimed = claimed_bytes(each->elf());
    if (claimed / kMostExpansion > each->image().size()) {
      return Error{ErrorKind::Corrupt, "debug information of " + each->stamp().path + " is damaged: it claims to be " +
                                           std::to_string(claimed) + " bytes in a file of " +
                                           std::to_string(each->image().size()) + "; build or install it again"};
    }
    if (Status readable = each->hide_unused_debug_sections(DebugUse::Types); !readable) return readable;
  }
  if (is_unlinked(file)) {
    Result<std::vector<std::string>> linked = link_debug_sections(file);
    if (!linked) return linked.error();
    linked_sections_ = *std::move(linked);
  }
  dwarf_ = dwarf_begin_elf(file.elf(), DWARF_C_READ, nullptr);
  if (dwarf_ == nullptr) {
    return Error{ErrorKind::Corrupt, "cannot read debug information of " + dwarf_path_ + " (" + dwarf_errmsg(-1) +
                                         "): build or install it again"};
  }
  if (alternate != nullptr) {
    alternate_dwarf_ = dwarf_begin_elf(alternate->elf(), DWARF_C_READ, nullptr);
    if (alternate_dwarf_ != nullptr) dwarf_setalt(dwarf_, alternate_dwarf_);
  }
  line_sections_ = {opened_section(file.elf(), ".debug_line"), opened_section(file.elf(), ".debug_line_str"),
                    opened_section(file.elf(), ".debug_str")};
  info_bytes_ = opened_section(file.elf(), ".debug_info").size();
  return ok();
}

DebugBinary::~DebugBinary() {
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
  if (alternate_dwarf_ != nullptr) dwarf_end(alternate_dwarf_);
}

}  // namespace tare::core
