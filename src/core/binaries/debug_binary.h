// A binary and the files that hold its DWARF: itself or a separate debug file, and dwz's common part. Object files,
// too.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/symbols/elf_file.h"
#include "core/symbols/line_program.h"
#include "trace/base/result.h"

namespace tare::core {

class DebugBinary {
 public:
  // `debug_dirs` are searched before /usr/lib/debug. Errors: NotABinary: no ELF file of this kind of machine;
  // NoDebugInfo: none in the file and none installed; Io; Corrupt.
  static Result<std::unique_ptr<DebugBinary>> open(const std::filesystem::path& path,
                                                   std::span<const std::filesystem::path> debug_dirs);
  // The same in two steps: until load(), only paths and files are known.
  static Result<std::unique_ptr<DebugBinary>> find(const std::filesystem::path& path,
                                                   std::span<const std::filesystem::path> debug_dirs);
  Status load();
  // Bytes of one file that has its DWARF in itself.
  static Result<std::unique_ptr<DebugBinary>> from_bytes(std::string bytes, std::string name);
  ~DebugBinary();
  DebugBinary(const DebugBinary&) = delete;
  DebugBinary& operator=(const DebugBinary&) = delete;

  const std::string& path() const { return path_; }              // as it was asked for
  const ElfFile& binary() const { return *binary_; }             // for sections with code and data
  const std::string& dwarf_path() const { return dwarf_path_; }  // the file that holds the DWARF
  // Changes when one of the files does; empty where it is bytes.
  const std::string& fingerprint() const { return fingerprint_; }

  Dwarf* dwarf() const { return dwarf_; }
  const LineSections& line_sections() const { return line_sections_; }  // views of dwarf()'s sections
  std::uint64_t info_bytes() const { return info_bytes_; }              // .debug_info, decompressed

 private:
  DebugBinary() = default;
  ElfFile& with_dwarf() { return debug_ != nullptr ? *debug_ : *binary_; }

  std::string path_;
  std::string dwarf_path_;
  std::string fingerprint_;
  std::unique_ptr<ElfFile> binary_;
  std::unique_ptr<ElfFile> debug_;  // null: bytes, which hold their DWARF themselves
  std::unique_ptr<ElfFile> alternate_;
  Dwarf* dwarf_ = nullptr;
  Dwarf* alternate_dwarf_ = nullptr;
  LineSections line_sections_;
  std::uint64_t info_bytes_ = 0;
  std::vector<std::string> linked_sections_;  // of object files, behind dwarf_
};

}  // namespace tare::core
