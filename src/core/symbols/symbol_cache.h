// Cache of resolved frames: one small file for each build id, so that a second report needs no DWARF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/symbols/elf_file.h"
#include "core/symbols/frame.h"

namespace tare::core {

// By address in the ELF file's own terms. Nothing here can fail a report: a damaged, foreign or older file counts as
// absent, and one that can't be written costs the next report some time.
using ResolvedFrames = std::map<std::uint64_t, std::vector<Frame>>;

// $XDG_CACHE_HOME/tare/symbols, else ~/.cache/tare/symbols; empty if neither variable is set.
std::filesystem::path default_symbol_cache_dir();

std::filesystem::path symbol_cache_path(const std::filesystem::path& dir, const BuildId& id);

// `fingerprint` identifies the files that the names came from; a cache of other files is ignored.
std::optional<ResolvedFrames> load_symbol_cache(const std::filesystem::path& file, std::string_view fingerprint);

// Adds to the existing entries. Concurrent writers may lose each other's additions, never the file: it is replaced by
// rename.
void save_symbol_cache(const std::filesystem::path& file, std::string_view fingerprint, const ResolvedFrames& frames);

// The file's bytes, for the two above and for tests.
std::string encode_symbol_cache(std::string_view fingerprint, const ResolvedFrames& frames);
std::optional<ResolvedFrames> decode_symbol_cache(std::string_view bytes, std::string_view fingerprint);

}  // namespace tare::core
