// Any bytes as an ELF file with debug information: what its code points to comes out or not, never a crash or an
// endless walk.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/allocated_types/pointed_types.h"
#include "core/symbols/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::core;
  auto file = ElfFile::from_bytes(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!file || !(*file)->hide_unused_debug_sections(DebugUse::Everything)) return 0;  // as who asks for types does
  Dwarf* const dwarf = dwarf_begin_elf((*file)->elf(), DWARF_C_READ, nullptr);
  if (dwarf == nullptr) return 0;
  // Where small programs have their code.
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = 1; address < 0x1400; address += 3) addresses.push_back(address);
  const std::vector<std::vector<PointedType>> found = pointed_types(dwarf, addresses);
  if (found.size() != addresses.size()) std::abort();
  for (const std::vector<PointedType>& types : found) {
    for (const PointedType& type : types) {
      if (type.name.empty() || type.size_bytes == 0) std::abort();
    }
  }
  dwarf_end(dwarf);
  return 0;
}
