// An ELF file in memory: mapped read-only from disk, or given as bytes (vdso, mini debug info, tests).
#pragma once

#include <libelf.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/guarded_mapping.h"
#include "trace/base/result.h"

namespace tare::core {

using BuildId = std::vector<std::uint8_t>;

std::string to_hex(const BuildId& id);

// Distinguishes a file from an edited or replaced one without reading it.
struct FileStamp {
  std::string path;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;
};

// The purpose of opening debug information.
enum class DebugUse : std::uint8_t { Names, Types, Everything };

class ElfFile {
 public:
  // Regular files of this machine's kind (64-bit little-endian) only: NotABinary for others.
  static Result<std::unique_ptr<ElfFile>> open(const std::filesystem::path& path);
  static Result<std::unique_ptr<ElfFile>> from_bytes(std::string bytes, std::string name);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Elf* elf() const { return elf_; }
  const FileStamp& stamp() const { return stamp_; }
  const BuildId& build_id() const { return build_id_; }  // empty: none
  std::string_view image() const { return {image_, image_bytes_}; }
  // The file became shorter while it was read: the results are invalid.
  bool is_cut() const { return mapping_.is_cut(); }

  bool has_section(std::string_view name) const;
  // Contents as they lie in the file (compressed sections stay so until DWARF is opened). Empty if absent or without
  // bytes.
  std::string_view section(std::string_view name) const;
  std::optional<std::uint64_t> section_address(std::string_view name) const;  // nothing: absent

  // Makes libdw pass over sections that are never read. It decompresses all known sections at once, and location lists
  // and macros are a fifth to a third of them. Must be called before a Dwarf is made of elf(). Corrupt if the remaining
  // sections would expand to more than the file's size allows.
  Status hide_unused_debug_sections(DebugUse use);

 private:
  ElfFile() = default;
  Status attach(FileStamp stamp);

  trace::GuardedMapping mapping_;  // a build may replace the file by writing over it
  char* image_ = nullptr;
  std::size_t image_bytes_ = 0;
  std::string owned_;  // backs image_ when it isn't a mapping
  Elf* elf_ = nullptr;
  FileStamp stamp_;
  BuildId build_id_;
};

}  // namespace tare::core
