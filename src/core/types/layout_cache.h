// Types that were read before, one file a build id, so that a second report needs no DWARF.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types/layout_reader.h"
#include "core/types/type_layout.h"
#include "trace/base/result.h"

namespace tare::core {

struct Layouts {
  std::vector<TypeLayout> types;
  ReadLayouts read;
  std::string dwarf_path;
};

// All types of a binary: from `cache_dir` (empty: none) where its files are those that were read before, else read and
// put there. Cached are builds with an id whose debug information is complete and has no .dwo files: .dwo files aren't
// checked and could have changed. Errors and `progress` as of DebugBinary::open() and read_layouts().
Result<Layouts> load_layouts(const std::filesystem::path& path, std::span<const std::filesystem::path> debug_dirs,
                             const std::filesystem::path& cache_dir,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

// A file's bytes. `fingerprint` identifies the files that the types came from. A cache of other files, and a damaged
// one, count as absent. Warnings aren't kept.
std::string encode_layouts(std::string_view fingerprint, const Layouts& layouts);
std::optional<Layouts> decode_layouts(std::string_view fingerprint, std::string_view file);

}  // namespace tare::core
