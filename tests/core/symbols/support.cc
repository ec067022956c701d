// Helpers of the symbol tests.
#include "support.h"

#include <elf.h>
#include <gelf.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "core/symbols/elf_file.h"

namespace tare::core::testing {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "tare-symbols-XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

int shell(const std::string& command) { return std::system(command.c_str()); }
bool has_command(const std::string& name) { return shell("command -v " + name + " >/dev/null 2>&1") == 0; }

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_all(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

fs::path fixture(const std::string& name) { return fs::path(FIXTURE_DIR) / ("symbols_fixture_" + name); }

trace::Module module_of(const fs::path& path) {
  trace::Module module;
  module.path = path.string();
  module.end = ~std::uint64_t{0};
  if (auto file = ElfFile::open(path)) module.build_id = (*file)->build_id();
  return module;
}

std::vector<std::uint64_t> function_addresses(const fs::path& path, std::size_t count) {
  auto file = ElfFile::open(path);
  if (!file) return {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> functions;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn((*file)->elf(), section)) != nullptr;) {
    GElf_Shdr header;
    gelf_getshdr(section, &header);
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0) {
        functions.emplace_back(symbol.st_value, symbol.st_size);
      }
    }
  }
  std::vector<std::uint64_t> addresses;
  std::mt19937_64 random(2026);
  for (std::size_t i = 0; i < count && !functions.empty(); ++i) {
    const auto [value, size] = functions[random() % functions.size()];
    addresses.push_back(value + random() % size);
  }
  return addresses;
}

std::vector<std::uint64_t> returning_to(const std::vector<std::uint64_t>& addresses) {
  std::vector<std::uint64_t> next = addresses;
  for (std::uint64_t& address : next) ++address;
  return next;
}

SymbolizerOptions without_cache() {
  SymbolizerOptions options;
  options.cache = SymbolizerOptions::Cache::Off;
  return options;
}

bool has_llvm_symbolizer() { return has_command("llvm-symbolizer-19"); }

std::vector<std::vector<Frame>> llvm_symbolizer(const fs::path& file, const std::vector<std::uint64_t>& addresses,
                                                const std::string& names) {
  const TemporaryFolder folder;
  {
    std::ofstream in(folder.path() / "in");
    for (const std::uint64_t address : addresses) in << "0x" << std::hex << address << '\n';
  }
  if (shell("llvm-symbolizer-19 --functions=" + names + " --inlines --no-demangle --obj='" + file.string() + "' <'" +
            (folder.path() / "in").string() + "' >'" + (folder.path() / "out").string() + "'") != 0) {
    return {};
  }
  // Per address: pairs of lines (function; file:line:column), then an empty line.
  std::ifstream out(folder.path() / "out");
  std::vector<std::vector<Frame>> stacks;
  std::vector<Frame> stack;
  for (std::string function; std::getline(out, function);) {
    if (function.empty()) {
      stacks.push_back(std::move(stack));
      stack.clear();
      continue;
    }
    std::string place;
    std::getline(out, place);
    place.erase(place.rfind(':'));
    Frame frame;
    if (function != "??") frame.linkage_name = function;
    const auto line = static_cast<std::uint32_t>(std::stoul(place.substr(place.rfind(':') + 1)));
    if (line != 0) frame.line = line;
    place.erase(place.rfind(':'));
    if (place != "??") frame.file = fs::path(place).lexically_normal().string();
    stack.push_back(std::move(frame));
  }
  return stacks;
}

}  // namespace tare::core::testing
