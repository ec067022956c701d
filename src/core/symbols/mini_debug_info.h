// .gnu_debugdata: a small symbol table, xz-compressed, that Fedora and its kin leave in stripped files.
#pragma once

#include <memory>

#include "core/symbols/elf_file.h"

namespace tare::core {

// The ELF file within, or null: there is none, it is damaged, or this build has no liblzma.
std::unique_ptr<ElfFile> open_mini_debug_info(const ElfFile& file);

}  // namespace tare::core
