// Any bytes as an ELF file with tables of virtual functions and relocations: counts or an error, and no more bytes of
// tables than the file has.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/binaries/vtables.h"
#include "core/symbols/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::core;
  auto file = ElfFile::from_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!file) return 0;
  const auto census = count_vtables(**file, file->get());
  if (!census) return 0;
  if (census->saving.relocations > census->relocations) std::abort();
  if (census->saving.table_bytes > census->tables.bytes / 2) std::abort();
  return 0;
}
