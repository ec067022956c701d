// The size of a binary's virtual function tables and type information, the part that the loader writes, and the saving
// by tables of 4-byte offsets (clang's -fexperimental-relative-c++-abi-vtables).
//
// From seed: "Pointer compression in Oilpan" ends with relative tables for Android, because much memory lay in them.
// A table's 8-byte addresses must be written in each process, which makes its pages private and costs a relocation
// each; offsets from the table to its functions are constants of the file.
#pragma once

#include <cstdint>

#include "core/binaries/relocations.h"
#include "core/symbols/elf_file.h"
#include "trace/base/result.h"

namespace tare::core {

struct VtableGroup {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t relocations = 0;  // into them, of all kinds
};

// Where the names of the tables came from: which of them can be known at all.
enum class VtableNames : std::uint8_t {
  Symbols,  // .symtab of the binary or of its debug file: all of them
  Exports,  // .dynsym: those that other files may use; the binary is stripped
  Nothing,
};

// A lower bound of the saving by relative tables. Each class' type information is then named through an 8-byte word
// that has the relocation, which is taken off here. An entry of a call table may replace the relocation of a table that
// names a function by symbol, as for exported functions of a shared library. So symbolic relocations aren't part of the
// saving.
struct RelativeVtableSaving {
  std::uint64_t table_bytes = 0;       // half of the tables that aren't relative yet, less those words
  std::uint64_t relocations = 0;       // that needn't be performed at each start
  std::uint64_t relocation_bytes = 0;  // of them in the file
};

struct VtableCensus {
  VtableNames names = VtableNames::Nothing;
  VtableGroup tables;                 // _ZTV, and _ZTC: those in use while bases are constructed
  VtableGroup table_tables;           // _ZTT: addresses of tables; relative ones leave them as they are
  VtableGroup type_infos;             // _ZTI
  VtableGroup type_names;             // _ZTS
  std::uint64_t relative_tables = 0;  // of `tables`, without a relocation where one is needed: relative already
  std::uint64_t relocations = 0;      // in the whole file, without the call tables'
  RelocationSections sections;
  RelativeVtableSaving saving;
};

// `names_from` is the separate debug file of a stripped binary, or null. Usage for an object file, Io for damage.
Result<VtableCensus> count_vtables(const ElfFile& binary, const ElfFile* names_from);

}  // namespace tare::core
