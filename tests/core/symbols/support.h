// What the symbol tests share: temporary folders, commands, modules for files, and llvm-symbolizer as a second opinion.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/symbols/symbolizer.h"
#include "trace/model/dictionary.h"

namespace tare::core::testing {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Exit status of a shell command.
int shell(const std::string& command);
bool has_command(const std::string& name);

std::string read_all(const std::filesystem::path& path);
void write_all(const std::filesystem::path& path, const std::string& bytes);

std::filesystem::path fixture(const std::string& name);  // "dwarf5", ...

// The module as a recorder would note it, mapped at its own addresses.
trace::Module module_of(const std::filesystem::path& path);

// Up to `count` addresses inside sized function symbols of `file`, pseudo-random but the same each time.
std::vector<std::uint64_t> function_addresses(const std::filesystem::path& file, std::size_t count);

// The return addresses that make resolve() look at `addresses`.
std::vector<std::uint64_t> returning_to(const std::vector<std::uint64_t>& addresses);

SymbolizerOptions without_cache();

// Frames as llvm-symbolizer gives them: `names` "linkage" or "short", files made normal. Empty if it can't be run.
std::vector<std::vector<Frame>> llvm_symbolizer(const std::filesystem::path& file,
                                                const std::vector<std::uint64_t>& addresses, const std::string& names);
bool has_llvm_symbolizer();

}  // namespace tare::core::testing
