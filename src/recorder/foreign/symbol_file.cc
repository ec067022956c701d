// Reads section headers and symbols with every offset checked: see symbol_file.h.
#include "recorder/foreign/symbol_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>

#include "recorder/base/syscall.h"

namespace tare::recorder {
namespace {

class Mapping {
 public:
  explicit Mapping(const char* path) {
    const long fd = sys::open(path, O_RDONLY | O_CLOEXEC);
    if (sys::failed(fd)) return;
    const long end = sys::call(SYS_lseek, fd, 0, 2 /* SEEK_END */);
    if (!sys::failed(end) && end > 0) {
      const long mapped = sys::mmap(nullptr, static_cast<std::size_t>(end), PROT_READ, MAP_PRIVATE, fd, 0);
      if (!sys::failed(mapped)) {
        start_ = reinterpret_cast<const std::uint8_t*>(mapped);
        bytes_ = static_cast<std::uint64_t>(end);
      }
    }
    sys::close(fd);
  }
  ~Mapping() {
    if (start_ != nullptr) sys::munmap(start_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const std::uint8_t* start() const { return start_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  const std::uint8_t* start_ = nullptr;
  std::uint64_t bytes_ = 0;
};

struct Bytes {
  const std::uint8_t* start;
  std::uint64_t count;

  // Null where there aren't all of these, or they aren't aligned.
  template <typename T>
  const T* at(std::uint64_t offset, std::uint64_t items) const {
    if (start == nullptr || offset > count || items > (count - offset) / sizeof(T) || offset % alignof(T) != 0)
      return nullptr;
    return reinterpret_cast<const T*>(start + offset);
  }
};

const Elf64_Shdr* find_table(const Elf64_Shdr* sections, std::uint64_t count, std::uint32_t type) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (sections[i].sh_type == type && sections[i].sh_link < count) return &sections[i];
  }
  return nullptr;
}

}  // namespace

bool visit_functions(const char* path, VisitFunction visit, void* context) {
  const Mapping file(path);
  return visit_functions(file.start(), file.bytes(), visit, context);
}

bool visit_functions(const std::uint8_t* start, std::uint64_t bytes, VisitFunction visit, void* context) {
  const Bytes file{start, bytes};
  const auto* const header = file.at<Elf64_Ehdr>(0, 1);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
    return false;
  const auto* const sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return false;
  const Elf64_Shdr* table = find_table(sections, header->e_shnum, SHT_SYMTAB);
  if (table == nullptr) table = find_table(sections, header->e_shnum, SHT_DYNSYM);
  if (table == nullptr) return false;
  const std::uint64_t count = table->sh_size / sizeof(Elf64_Sym);
  const auto* const symbols = file.at<Elf64_Sym>(table->sh_offset, count);
  const Elf64_Shdr& strings = sections[table->sh_link];
  const char* const names = file.at<char>(strings.sh_offset, strings.sh_size);
  if (symbols == nullptr || names == nullptr || strings.sh_size == 0 || names[strings.sh_size - 1] != '\0')
    return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym& symbol = symbols[i];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= strings.sh_size) continue;
    visit(context, FunctionSymbol{names + symbol.st_name, symbol.st_value, symbol.st_size});
  }
  return true;
}

}  // namespace tare::recorder
