// Any bytes as an ELF file with debug information: names, units, lines and inlined calls must come out or not, never a
// crash.
#include <cstdint>
#include <string>
#include <vector>

#include "core/symbols/dwarf_file.h"
#include "core/symbols/elf_file.h"
#include "core/symbols/elf_symbols.h"
#include "core/symbols/function_extents.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::core;
  auto file = ElfFile::from_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!file) return 0;
  // Where small programs have their code, two batches so that both ways to look up run.
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = 1; address < 0x1400; address += 3) addresses.push_back(address);
  ElfSymbols symbols;
  symbols.add(**file);
  symbols.find(addresses);
  symbols.find(addresses);
  const FunctionExtents extents(**file);
  for (const std::uint64_t address : addresses) extents.find(address);
  auto dwarf = DwarfFile::open(**file, nullptr);
  if (!dwarf) return 0;
  std::size_t named = 0;
  for (const DwarfFile::Found& found : (*dwarf)->find(addresses)) {
    for (const DwarfFrame& frame : found.frames) named += frame.name.size() + found.unit->path(frame).size();
  }
  return named == SIZE_MAX ? -1 : 0;
}
