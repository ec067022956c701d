// Reads the loader's list and the tables of its objects: see loaded_objects.h.
#include "core/injection/loaded_objects.h"

#include <elf.h>
#include <link.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "trace/base/process_files.h"

namespace tare::core {
namespace {

constexpr std::size_t kMostObjects = 10'000;
constexpr std::uint32_t kMostChained = 10'000;  // symbols of one hash bucket
constexpr std::size_t kMostEntries = 4096;      // of a dynamic section, and program headers

ProgramStart start_of(pid_t pid) {
  ProgramStart start;
  const std::string text = trace::read_process_file(pid, "auxv").value_or("");
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= text.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, text.data() + at, sizeof(entry));
    if (entry.a_type == AT_PHDR) start.headers = entry.a_un.a_val;
    if (entry.a_type == AT_PHNUM) start.count = entry.a_un.a_val;
    if (entry.a_type == AT_BASE) start.loader = entry.a_un.a_val;
    if (entry.a_type == AT_SYSINFO_EHDR) start.vdso = entry.a_un.a_val;
  }
  return start;
}

std::uint32_t gnu_hash_of(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

}  // namespace

bool read_remote(pid_t pid, std::uint64_t address, void* out, std::size_t bytes) {
  const iovec to{out, bytes};
  const iovec from{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(pid, &to, 1, &from, 1, 0) == static_cast<ssize_t>(bytes);
}

bool LoadedObjects::read(std::uint64_t address, void* out, std::size_t bytes) const {
  if (reads_left_ == 0) return false;
  --reads_left_;
  return read_remote(pid_, address, out, bytes);
}

std::string LoadedObjects::read_text(std::uint64_t address, std::size_t most) const {
  std::string text;
  for (char byte; text.size() < most && read(address + text.size(), &byte, 1) && byte != '\0';) text.push_back(byte);
  return text;
}

void LoadedObjects::read_dynamic_section(std::uint64_t at, LoadedObject& object) const {
  std::uint64_t soname = 0;
  for (std::size_t i = 0; i < kMostEntries; ++i, at += sizeof(Elf64_Dyn)) {
    const auto entry = read_value<Elf64_Dyn>(at);
    if (!entry || entry->d_tag == DT_NULL) break;
    const std::uint64_t value = entry->d_un.d_ptr;
    const std::uint64_t address = value < object.bias ? object.bias + value : value;
    if (entry->d_tag == DT_SYMTAB) object.symbols = address;
    if (entry->d_tag == DT_STRTAB) object.strings = address;
    if (entry->d_tag == DT_GNU_HASH) object.gnu_hash = address;
    if (entry->d_tag == DT_SONAME) soname = value;
    if (entry->d_tag == DT_DEBUG) object.debug = at + offsetof(Elf64_Dyn, d_un);
  }
  if (soname != 0 && object.strings != 0) object.soname = read_text(object.strings + soname, 256);
}

std::optional<LoadedObject> LoadedObjects::object_of(std::uint64_t headers, std::size_t count,
                                                     std::uint64_t bias) const {
  if (count == 0 || count > kMostEntries) return std::nullopt;
  std::vector<Elf64_Phdr> segments(count);
  if (!read(headers, segments.data(), count * sizeof(Elf64_Phdr))) return std::nullopt;
  LoadedObject object;
  object.bias = bias;
  object.start = ~std::uint64_t{0};
  std::uint64_t dynamic = 0;
  for (const Elf64_Phdr& segment : segments) {
    const std::uint64_t at = bias + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      object.start = std::min(object.start, at);
      object.end = std::max(object.end, at + segment.p_memsz);
      const std::uint64_t code_end = at + segment.p_filesz;
      const bool is_longer = object.code_end == 0 || -code_end % kCodePageBytes > -object.code_end % kCodePageBytes;
      if ((segment.p_flags & PF_X) != 0 && segment.p_filesz == segment.p_memsz && is_longer) object.code_end = code_end;
    } else if (segment.p_type == PT_DYNAMIC) {
      dynamic = at;
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      object.eh_frame_header = at;
    }
  }
  if (dynamic != 0) read_dynamic_section(dynamic, object);
  return object;
}

std::optional<LoadedObject> LoadedObjects::object_at_header(std::uint64_t base) const {
  const auto header = read_value<Elf64_Ehdr>(base);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return object_of(base + header->e_phoff, header->e_phnum, base);
}

// The difference between the addresses in memory and in the executable's file.
std::uint64_t LoadedObjects::bias_of_executable(const ProgramStart& start) const {
  for (std::uint64_t i = 0; i < start.count && i < kMostEntries; ++i) {
    const auto segment = read_value<Elf64_Phdr>(start.headers + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_PHDR) return start.headers - segment->p_vaddr;
  }
  return 0;
}

std::optional<LoadedObjects> LoadedObjects::of(pid_t pid) { return of(pid, start_of(pid)); }

std::optional<LoadedObjects> LoadedObjects::of(pid_t pid, const ProgramStart& start, std::size_t most_reads) {
  if (start.headers == 0 || start.loader == 0) return std::nullopt;
  LoadedObjects objects(pid, start.loader, {});
  objects.reads_left_ = most_reads;
  const std::optional<LoadedObject> program =
      objects.object_of(start.headers, start.count, objects.bias_of_executable(start));
  if (!program || program->debug == 0) return std::nullopt;
  const auto list = objects.read_value<std::uint64_t>(program->debug);
  if (!list || *list == 0) return std::nullopt;
  const auto debug = objects.read_value<r_debug>(*list);
  if (!debug || debug->r_map == nullptr) return std::nullopt;
  objects.objects_.push_back(*program);
  std::uint64_t at = reinterpret_cast<std::uint64_t>(debug->r_map);
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; at != 0 && i < kMostObjects && seen.insert(at).second; ++i) {
    const auto map = objects.read_value<link_map>(at);
    if (!map) break;
    if (i > 0) {
      if (std::optional<LoadedObject> object = objects.object_at_header(map->l_addr))
        objects.objects_.push_back(std::move(*object));
    }
    at = reinterpret_cast<std::uint64_t>(map->l_next);
  }
  if (start.vdso != 0 && objects.around(start.vdso) == nullptr) {
    if (std::optional<LoadedObject> vdso = objects.object_at_header(start.vdso))
      objects.objects_.push_back(std::move(*vdso));
  }
  return objects;
}

const LoadedObject* LoadedObjects::around(std::uint64_t address) const {
  for (const LoadedObject& object : objects_) {
    if (object.start <= address && address < object.end) return &object;
  }
  return nullptr;
}

const LoadedObject* LoadedObjects::defining(const std::string& symbol) const {
  for (const LoadedObject& object : objects_) {
    if (address_in(object, symbol) != 0) return &object;
  }
  return nullptr;
}

std::uint64_t LoadedObjects::address_of(const std::string& symbol) const {
  const LoadedObject* const object = defining(symbol);
  return object == nullptr ? 0 : address_in(*object, symbol);
}

// As the loader does it, without the filter.
std::uint64_t LoadedObjects::address_in(const LoadedObject& object, const std::string& symbol) const {
  if (object.gnu_hash == 0 || object.symbols == 0 || object.strings == 0) return 0;
  struct {
    std::uint32_t buckets, first, filter_words, shift;
  } header;
  if (!read(object.gnu_hash, &header, sizeof(header)) || header.buckets == 0) return 0;
  const std::uint64_t buckets = object.gnu_hash + sizeof(header) + std::uint64_t{header.filter_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{header.buckets} * 4;
  const std::uint32_t hash = gnu_hash_of(symbol);
  auto index = read_value<std::uint32_t>(buckets + std::uint64_t{hash % header.buckets} * 4);
  if (!index || *index < header.first) return 0;
  for (std::uint32_t at = *index; at - *index < kMostChained; ++at) {
    const auto chained = read_value<std::uint32_t>(chains + std::uint64_t{at - header.first} * 4);
    if (!chained) return 0;
    if ((*chained | 1) == (hash | 1)) {
      const auto found = read_value<Elf64_Sym>(object.symbols + std::uint64_t{at} * sizeof(Elf64_Sym));
      const bool is_function = found && found->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(found->st_info) == STT_FUNC;
      if (is_function && read_text(object.strings + found->st_name, symbol.size() + 1) == symbol)
        return object.bias + found->st_value;
    }
    if ((*chained & 1) != 0) return 0;
  }
  return 0;
}

}  // namespace tare::core
