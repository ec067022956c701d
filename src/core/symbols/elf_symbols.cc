// Reads ELF symbol tables in place; picks one name where several symbols hold an address.
#include "core/symbols/elf_symbols.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>

#include "core/demangle/demangle.h"

namespace tare::core {
namespace {

// Aliases: `malloc` before `__libc_malloc`, then global before weak before local.
std::uint8_t rank_of(std::string_view name, unsigned char binding) {
  const bool mangled = name.starts_with("_Z") || name.starts_with("_R");
  const std::size_t leading = mangled ? 0 : std::min<std::size_t>(name.find_first_not_of('_'), 7);
  const unsigned bind = binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? 0 : binding == STB_WEAK ? 1 : 2;
  return static_cast<std::uint8_t>(leading * 4 + bind);
}

bool is_local(const ElfSymbol& symbol) { return symbol.rank % 4 == 2; }

// The start nearest to the address is the most specific; the rest decides between aliases, so that two files of one
// program, or two runs, can't disagree.
bool better(const ElfSymbol& a, const ElfSymbol& b) {
  if (b.name.empty()) return true;
  if (a.value != b.value) return a.value > b.value;
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.name.size() != b.name.size()) return a.name.size() < b.name.size();
  if (a.name != b.name) return a.name < b.name;
  return a.size_bytes < b.size_bytes;
}

std::string_view name_at(std::string_view names, std::uint32_t offset) {
  if (offset >= names.size()) return {};
  const void* nul = std::memchr(names.data() + offset, 0, names.size() - offset);
  if (nul == nullptr) return {};
  std::string_view name(names.data() + offset,
                        static_cast<std::size_t>(static_cast<const char*>(nul) - names.data()) - offset);
  if (const std::size_t version = name.find('@'); version != std::string_view::npos && version > 0) {
    name = name.substr(0, version);
  }
  return name;
}

std::string_view bytes_of(Elf_Scn* section) {
  const Elf_Data* data = section == nullptr ? nullptr : elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

}  // namespace

void ElfSymbols::add(const ElfFile& file) {
  Elf* elf = file.elf();
  std::vector<bool> executable;
  std::vector<std::pair<Elf_Scn*, GElf_Shdr>> found;
  executable.push_back(false);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    const bool readable = gelf_getshdr(section, &header) != nullptr;
    executable.push_back(readable && (header.sh_flags & SHF_EXECINSTR) != 0);
    if (!readable || header.sh_entsize != sizeof(Elf64_Sym)) continue;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) found.emplace_back(section, header);
  }
  // .symtab holds all of .dynsym.
  const bool has_symtab =
      std::any_of(found.begin(), found.end(), [](const auto& s) { return s.second.sh_type == SHT_SYMTAB; });
  for (const auto& [section, header] : found) {
    if (has_symtab && header.sh_type == SHT_DYNSYM) continue;
    const std::string_view symbols = bytes_of(section);
    const std::string_view names = bytes_of(elf_getscn(elf, header.sh_link));
    if (!symbols.empty() && !names.empty()) tables_.push_back({symbols, names, executable});
  }
}

template <typename Visit>
void ElfSymbols::for_each_function(Visit&& visit) const {
  for (const Table& table : tables_) {
    const std::size_t count = table.symbols.size() / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count; ++i) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, table.symbols.data() + i * sizeof symbol, sizeof symbol);
      if (symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF) continue;
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (type != STT_FUNC && type != STT_GNU_IFUNC) {
        // Assembly may omit the type; a size in a code section is sufficient.
        if (type != STT_NOTYPE || symbol.st_shndx >= table.executable.size() || !table.executable[symbol.st_shndx])
          continue;
      }
      if (symbol.st_value + symbol.st_size < symbol.st_value) continue;
      visit(symbol, table);
    }
  }
}

namespace {

ElfSymbol make_symbol(const Elf64_Sym& symbol, std::string_view names) {
  ElfSymbol made{symbol.st_value, symbol.st_size, name_at(names, symbol.st_name), 0};
  made.rank = rank_of(made.name, ELF64_ST_BIND(symbol.st_info));
  return made;
}

}  // namespace

std::vector<ElfSymbol> ElfSymbols::find(std::span<const std::uint64_t> addresses) {
  std::vector<ElfSymbol> best(addresses.size());
  if (addresses.empty()) return best;
  if (++batches_ == 2) build_index();
  if (!indexed_) {
    for_each_function([&](const Elf64_Sym& symbol, const Table& table) {
      const std::uint64_t end = symbol.st_value + symbol.st_size;
      auto hit = std::lower_bound(addresses.begin(), addresses.end(), symbol.st_value);
      for (; hit != addresses.end() && *hit < end; ++hit) {
        const ElfSymbol candidate = make_symbol(symbol, table.names);
        ElfSymbol& current = best[static_cast<std::size_t>(hit - addresses.begin())];
        if (!candidate.name.empty() && better(candidate, current)) current = candidate;
      }
    });
    return best;
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t address = addresses[i];
    auto after = std::upper_bound(index_.begin(), index_.end(), address,
                                  [](std::uint64_t a, const ElfSymbol& symbol) { return a < symbol.value; });
    for (auto at = static_cast<std::size_t>(after - index_.begin()); at > 0 && reach_[at - 1] > address; --at) {
      const ElfSymbol& symbol = index_[at - 1];
      if (!best[i].name.empty() && symbol.value < best[i].value) break;
      if (symbol.value + symbol.size_bytes > address && better(symbol, best[i])) best[i] = symbol;
    }
  }
  return best;
}

bool ElfSymbols::has_alias(const ElfSymbol& symbol, std::string_view base) {
  build_index();
  auto at = std::lower_bound(index_.begin(), index_.end(), symbol.value,
                             [](const ElfSymbol& s, std::uint64_t value) { return s.value < value; });
  for (; at != index_.end() && at->value == symbol.value; ++at) {
    if (is_local(*at) == is_local(symbol) && split_clone_suffix(at->name).base == base) return true;
  }
  return false;
}

void ElfSymbols::build_index() {
  if (indexed_) return;
  indexed_ = true;
  for_each_function([&](const Elf64_Sym& symbol, const Table& table) {
    ElfSymbol made = make_symbol(symbol, table.names);
    if (!made.name.empty()) index_.push_back(made);
  });
  std::sort(index_.begin(), index_.end(), [](const ElfSymbol& a, const ElfSymbol& b) { return a.value < b.value; });
  reach_.reserve(index_.size());
  std::uint64_t reach = 0;
  for (const ElfSymbol& symbol : index_) {
    reach = std::max(reach, symbol.value + symbol.size_bytes);
    reach_.push_back(reach);
  }
}

}  // namespace tare::core
