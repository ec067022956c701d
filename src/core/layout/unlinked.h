// Debug sections of object files, as a linker would leave them if it put each section at 0.
#pragma once

#include <cstdint>

#include "core/symbols/elf_file.h"
#include "trace/result.h"

namespace tare::core {

bool is_unlinked(const ElfFile& file);

struct DebugRelocations {
  std::uint64_t applied = 0;
  // Sections of type units that a linker would keep one of (-fdebug-types-section). libdw passes over them.
  std::uint64_t grouped_sections = 0;
};

// Before a Dwarf is made of the file: references between debug sections are zeros until then. Decompresses what it
// changes. Relocations that say where code lies are applied as far as they are plain sums, and mean nothing to types.
// NotABinary: of a machine whose relocations aren't known here. Damaged ones are passed over.
Result<DebugRelocations> relocate_debug_sections(const ElfFile& file);

}  // namespace tare::core
