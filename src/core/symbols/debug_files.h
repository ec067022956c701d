// Which files on this machine hold the names of a recorded module: the binary itself, its separate debug file, dwz's
// part.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "core/symbols/elf_file.h"
#include "core/symbols/symbolizer.h"
#include "trace/model/dictionary.h"

namespace tare::core {

struct DebugFiles {
  std::unique_ptr<ElfFile> binary;     // null: missing, replaced or damaged
  std::unique_ptr<ElfFile> debug;      // null: no separate debug file found
  std::unique_ptr<ElfFile> alternate;  // .gnu_debugaltlink of whichever holds the DWARF
  ModuleState state = ModuleState::Missing;
  std::string message;

  // The one with DWARF, or null.
  ElfFile* with_dwarf() const;
  // Changes when one of the files changes, or another one is found. Then cached results of the old files are invalid.
  std::string fingerprint() const;
};

// Matches the build: every file used has the recorded build id, or is named by a debug link whose CRC is right.
DebugFiles find_debug_files(const trace::Module& module, std::span<const std::filesystem::path> debug_dirs);

}  // namespace tare::core
