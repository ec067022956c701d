// Debug sections of object files, as a linker would leave them if it put each section at 0.
#pragma once

#include <string>
#include <vector>

#include "core/symbols/elf_file.h"
#include "trace/base/result.h"

namespace tare::core {

bool is_unlinked(const ElfFile& file);

// Before a Dwarf is made of the file: references between debug sections are zeros until then. Decompresses sections
// that it changes. Relocations with addresses of code are applied if they are plain sums; types don't need them. Types
// in sections of their own, of which a linker would keep one each (-fdebug-types-section), are put together as it
// would: libdw passes over such sections. The result owns the joined bytes, and must outlive every Dwarf of the file.
// NotABinary: the relocations of its machine aren't implemented. Damaged ones are passed over.
Result<std::vector<std::string>> link_debug_sections(const ElfFile& file);

}  // namespace tare::core
