// Addresses that the loader writes into an ELF file's data, from .rela.dyn and .relr.dyn.
#pragma once

#include <cstdint>
#include <functional>

#include "core/symbols/elf_file.h"
#include "trace/base/result.h"

namespace tare::core {

inline constexpr std::uint64_t kRelaEntryBytes = 24;

enum class RelocationKind : std::uint8_t {
  Relative,   // load address plus a constant; 24 bytes, from .rela.dyn
  Packed,     // the same from .relr.dyn: an address, or a bit of the word behind it
  Symbolic,   // the address of a symbol, which another file may define
  CallTable,  // of .rela.plt
};

struct Relocation {
  std::uint64_t address;  // as in section headers
  RelocationKind kind;
};

// Sizes of the sections of relocations in the file.
struct RelocationSections {
  std::uint64_t rela_bytes = 0;        // .rela.dyn
  std::uint64_t call_table_bytes = 0;  // .rela.plt
  std::uint64_t relr_bytes = 0;
  std::uint64_t unread_bytes = 0;  // Android's packed format, which isn't decoded
};

// Passes all relocations to the caller in the order of the file. In a damaged file, an entry beyond the end is an error
// (Io), after all earlier entries were passed. An object file that isn't linked has none of these (Usage).
Result<RelocationSections> for_each_relocation(const ElfFile& file,
                                               const std::function<void(const Relocation&)>& visit);

// How much .relr.dyn takes for addresses that come in its order.
class RelrSize {
 public:
  void add(std::uint64_t address);
  std::uint64_t bytes() const { return 8 * (words_ + (bitmap_is_empty_ ? 0 : 1)); }

 private:
  std::uint64_t words_ = 0;  // that are finished
  std::uint64_t base_ = 0;   // of the bitmap that is open
  bool bitmap_is_empty_ = true;
};

}  // namespace tare::core
