// Looks where distributions put debug files; refuses any that belongs to another build.
#include "core/symbols/debug_files.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/symbols/byte_reader.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

constexpr char kSystemDebugDir[] = "/usr/lib/debug";

// The CRC-32 of .gnu_debuglink, eight bytes a step: a debug file of 100 MB takes 0.1 s instead of 0.4.
std::uint32_t crc32_of(std::string_view bytes) {
  static const auto tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
      made[0][i] = crc;
    }
    for (std::uint32_t i = 0; i < 256; ++i) {
      for (std::size_t t = 1; t < 8; ++t) made[t][i] = (made[t - 1][i] >> 8) ^ made[0][made[t - 1][i] & 0xff];
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t t = 0; t < 8; ++t) crc ^= tables[7 - t][(word >> (8 * t)) & 0xff];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint8_t>(*at)) & 0xff];
  return ~crc;
}

bool has_dwarf(const ElfFile& file) { return file.has_section(".debug_info") || file.has_section(".zdebug_info"); }
bool has_names(const ElfFile& file) { return has_dwarf(file) || file.has_section(".symtab"); }

// Then the user's folders: TARE_SYMBOLS in the environment.
std::vector<fs::path> with_other_dirs(std::span<const fs::path> dirs) {
  std::vector<fs::path> all(dirs.begin(), dirs.end());
  const char* const folders = std::getenv("TARE_SYMBOLS");
  for (std::string_view rest = folders == nullptr ? "" : folders; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty()) all.emplace_back(folder);
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  all.emplace_back(kSystemDebugDir);
  return all;
}

std::unique_ptr<ElfFile> open_build(const fs::path& path, const BuildId& id) {
  Result<std::unique_ptr<ElfFile>> file = ElfFile::open(path);
  if (!file || (*file)->build_id() != id) return nullptr;
  return *std::move(file);
}

// Distributions name debug files by their build id, debuginfod's cache has a folder for each, and people copy files.
std::unique_ptr<ElfFile> find_by_build_id(const trace::Module& module, std::span<const fs::path> dirs) {
  if (module.build_id.size() < 2) return nullptr;
  const std::string hex = to_hex(module.build_id);
  const fs::path name = fs::path(module.path).filename();
  for (const fs::path& dir : dirs) {
    const fs::path candidates[] = {dir / ".build-id" / hex.substr(0, 2) / (hex.substr(2) + ".debug"),
                                   dir / hex / "debuginfo", dir / (name.string() + ".debug"), dir / name};
    for (const fs::path& candidate : candidates) {
      auto file = open_build(candidate, module.build_id);
      if (file != nullptr && (has_names(*file) || has_dwarf(*file))) return file;
    }
  }
  return nullptr;
}

// In the root of a container or of an image, which TARE_SYMBOLS names.
std::unique_ptr<ElfFile> find_in_roots(const trace::Module& module, std::span<const fs::path> dirs) {
  if (module.build_id.empty()) return nullptr;
  for (const fs::path& dir : dirs) {
    if (auto file = open_build(dir / fs::path(module.path).relative_path(), module.build_id)) return file;
  }
  return nullptr;
}

std::unique_ptr<ElfFile> find_by_debug_link(const ElfFile& binary, std::span<const fs::path> dirs) {
  const std::string_view link = binary.section(".gnu_debuglink");
  ByteReader reader(link);
  const std::string_view name = reader.c_string();
  const std::size_t crc_offset = (name.size() + 1 + 3) & ~std::size_t{3};
  if (reader.failed() || name.empty() || name.find('/') != std::string_view::npos || crc_offset + 4 > link.size())
    return nullptr;
  std::uint32_t crc;
  std::memcpy(&crc, link.data() + crc_offset, sizeof crc);

  std::error_code none;
  const fs::path real = fs::canonical(binary.stamp().path, none);
  const fs::path folder = (none ? fs::path(binary.stamp().path) : real).parent_path();
  std::vector<fs::path> candidates = {folder / name, folder / ".debug" / name};
  for (const fs::path& dir : dirs) {
    candidates.push_back(dir / folder.relative_path() / name);
    candidates.push_back(dir / name);
  }
  for (const fs::path& candidate : candidates) {
    if (candidate == real) continue;
    Result<std::unique_ptr<ElfFile>> file = ElfFile::open(candidate);
    if (!file || !has_names(**file)) continue;
    const bool same_build = !binary.build_id().empty() && (*file)->build_id() == binary.build_id();
    if (same_build || crc32_of((*file)->image()) == crc) return *std::move(file);
  }
  return nullptr;
}

std::unique_ptr<ElfFile> find_alternate(const ElfFile& file, std::span<const fs::path> dirs) {
  const std::string_view link = file.section(".gnu_debugaltlink");
  ByteReader reader(link);
  const std::string_view name = reader.c_string();
  if (reader.failed() || name.empty() || reader.left() == 0) return nullptr;
  const std::string_view rest = reader.take(reader.left());
  const BuildId id(rest.begin(), rest.end());
  std::error_code none;
  const fs::path real = fs::canonical(file.stamp().path, none);
  const fs::path named(name);
  if (auto found = open_build(named.is_absolute() || none ? named : real.parent_path() / named, id)) return found;
  const std::string hex = to_hex(id);
  for (const fs::path& dir : dirs) {
    if (auto found = open_build(dir / ".build-id" / hex.substr(0, 2) / (hex.substr(2) + ".debug"), id)) return found;
  }
  return nullptr;
}

// The kernel maps the same vdso into every process; ours is the recorded one if the build ids agree.
Result<std::unique_ptr<ElfFile>> own_vdso() {
  const auto start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0) return Error{ErrorKind::Io, "this process has no vdso"};
  Elf64_Ehdr header;
  const auto* image = reinterpret_cast<const char*>(start);  // NOLINT: the kernel hands the address over as an integer
  std::memcpy(&header, image, sizeof header);
  const std::uint64_t bytes = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  return ElfFile::from_bytes(std::string(image, bytes), "[vdso]");
}

// Why the binary can't be used, or nothing.
std::optional<std::pair<ModuleState, std::string>> refusal(const trace::Module& module, const ElfFile& binary) {
  if (binary.build_id() == module.build_id) return std::nullopt;
  if (module.build_id.empty()) {
    return std::pair(ModuleState::Replaced,
                     module.path +
                         " had no build id when it was recorded and has one now: it was replaced, so its "
                         "functions stay unnamed; record again");
  }
  return std::pair(ModuleState::Replaced,
                   module.path +
                       " isn't the file that was recorded (its build id differs): its functions stay "
                       "unnamed; put the old file back or record again");
}

}  // namespace

ElfFile* DebugFiles::with_dwarf() const {
  if (debug != nullptr && has_dwarf(*debug)) return debug.get();
  return binary != nullptr && has_dwarf(*binary) ? binary.get() : nullptr;
}

std::string DebugFiles::fingerprint() const {
  std::string text;
  for (const ElfFile* file : {binary.get(), debug.get(), alternate.get()}) {
    if (file == nullptr) {
      text += "-\n";
      continue;
    }
    const FileStamp& stamp = file->stamp();
    text += stamp.path + '\t' + std::to_string(stamp.size_bytes) + '\t' + std::to_string(stamp.modified_ns) + '\n';
  }
  return text;
}

DebugFiles find_debug_files(const trace::Module& module, std::span<const std::filesystem::path> debug_dirs) {
  const std::vector<fs::path> dirs = with_other_dirs(debug_dirs);
  DebugFiles files;
  const bool is_vdso = module.path.starts_with("[vdso]") || module.path.starts_with("linux-vdso.so");
  Result<std::unique_ptr<ElfFile>> binary = is_vdso ? own_vdso() : ElfFile::open(module.path);
  std::error_code none;
  if (binary) {
    if (auto refused = refusal(module, **binary)) {
      std::tie(files.state, files.message) = *refused;
    } else {
      files.binary = *std::move(binary);
      files.state = ModuleState::NoNames;
    }
  } else if (is_vdso || !fs::exists(module.path, none)) {
    files.state = ModuleState::Missing;
    files.message = module.path +
                    " is gone: its functions stay unnamed; install it again, copy the debug file here, or name the "
                    "root of its container by TARE_SYMBOLS";
  } else {
    files.state = ModuleState::Damaged;
    files.message = binary.error().message;
  }
  if (files.binary == nullptr && !is_vdso) {
    files.binary = find_in_roots(module, dirs);
    if (files.binary != nullptr) files.state = ModuleState::NoNames;
  }

  files.debug = find_by_build_id(module, dirs);
  if (files.debug == nullptr && files.binary != nullptr) files.debug = find_by_debug_link(*files.binary, dirs);
  if (const ElfFile* dwarf = files.with_dwarf()) {
    files.alternate = find_alternate(*dwarf, dirs);
    files.state = ModuleState::Lines;
    files.message.clear();
  } else if (files.debug != nullptr || (files.binary != nullptr && (files.binary->has_section(".symtab") ||
                                                                    files.binary->has_section(".dynsym")))) {
    files.state = ModuleState::Names;
    files.message = module.path + " has no debug information: function names only; install its debug package for lines";
  } else if (files.binary != nullptr) {
    files.message = module.path + " is stripped: its functions stay unnamed; install its debug package";
  }
  return files;
}

}  // namespace tare::core
