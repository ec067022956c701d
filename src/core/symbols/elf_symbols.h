// Function symbols of ELF files by address, each with its size: an address outside every symbol has no name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/symbols/elf_file.h"

namespace tare::core {

struct ElfSymbol {
  std::uint64_t value = 0;
  std::uint64_t size_bytes = 0;
  std::string_view name;  // lives as long as the ElfFile; without "@VERSION"
  std::uint8_t rank = 0;  // among aliases: lower is the better name
};

class ElfSymbols {
 public:
  // .symtab and .dynsym of `file`, which must outlive this. Damaged tables are taken as far as they make sense.
  void add(const ElfFile& file);
  bool empty() const { return tables_.empty(); }

  // best[i] is the symbol that holds addresses[i] (ascending), or nullptr-like: an empty name.
  std::vector<ElfSymbol> find(std::span<const std::uint64_t> addresses);

  // True if another symbol with at least the same visibility starts at the same address and has the name `base`.
  bool has_alias(const ElfSymbol& symbol, std::string_view base);

 private:
  struct Table {
    std::string_view symbols;
    std::string_view names;
    std::vector<bool> executable;  // by section index
  };
  template <typename Visit>
  void for_each_function(Visit&& visit) const;
  void build_index();  // once

  std::vector<Table> tables_;
  // A first batch scans the tables once (1 ms for 40,000 symbols) and keeps nothing. A second batch makes a sorted
  // index.
  std::vector<ElfSymbol> index_;
  std::vector<std::uint64_t> reach_;  // greatest end of index_[0..i]: where a search backwards may stop
  std::uint32_t batches_ = 0;
  bool indexed_ = false;
};

}  // namespace tare::core
