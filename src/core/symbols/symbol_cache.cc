// File: magic, checksum of the rest, fingerprint, strings, then per address (ascending, as differences) its frames.
// LEB128.
#include "core/symbols/symbol_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <unordered_map>

#include "core/symbols/byte_reader.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

// Raise the number whenever names are made differently: old caches then count as absent.
constexpr std::string_view kMagic = "TARESYM1";
constexpr std::uint64_t kMaxFileBytes = 256u << 20;

std::uint64_t checksum(std::string_view bytes) {  // FNV-1a
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const char byte : bytes) sum = (sum ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3u;
  return sum;
}

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put(std::string& out, std::string_view text) {
  put(out, text.size());
  out += text;
}

class StringTable {
 public:
  std::uint64_t number(const std::string& text) {
    const auto [known, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return known->second;
  }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
  std::vector<std::string_view> texts_;
};

std::optional<std::string> read_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string bytes;
  struct stat info;
  bool complete = false;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) <= kMaxFileBytes) {
    bytes.resize(static_cast<std::size_t>(info.st_size));
    std::size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t n = ::read(fd, bytes.data() + got, bytes.size() - got);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    complete = got == bytes.size();
  }
  ::close(fd);
  if (!complete) return std::nullopt;
  return bytes;
}

bool write_file(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

fs::path default_symbol_cache_dir() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return fs::path(xdg) / "tare" / "symbols";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "tare" / "symbols";
  return {};
}

fs::path symbol_cache_path(const fs::path& dir, const BuildId& id) { return dir / (to_hex(id) + ".symbols"); }

std::string encode_symbol_cache(std::string_view fingerprint, const ResolvedFrames& frames) {
  StringTable strings;
  std::string entries;
  std::uint64_t previous = 0;
  put(entries, frames.size());
  for (const auto& [address, stack] : frames) {
    put(entries, address - previous);
    previous = address;
    put(entries, stack.size());
    for (const Frame& frame : stack) {
      put(entries, strings.number(frame.linkage_name));
      put(entries, strings.number(frame.function));
      put(entries, strings.number(frame.clone));
      put(entries, strings.number(frame.file));
      put(entries, frame.line ? std::uint64_t{*frame.line} + 1 : 0);
      put(entries, static_cast<std::uint64_t>(frame.kind));
    }
  }
  std::string body;
  put(body, fingerprint);
  put(body, strings.texts().size());
  for (const std::string_view text : strings.texts()) put(body, text);
  body += entries;

  std::string file(kMagic);
  const std::uint64_t sum = checksum(body);
  file.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return file + body;
}

std::optional<ResolvedFrames> decode_symbol_cache(std::string_view bytes, std::string_view fingerprint) {
  ByteReader reader(bytes);
  if (reader.take(kMagic.size()) != kMagic) return std::nullopt;
  const std::uint64_t sum = reader.u64();
  if (reader.failed() || checksum({reader.position(), reader.left()}) != sum) return std::nullopt;
  if (reader.take(reader.uleb()) != fingerprint) return std::nullopt;
  const std::uint64_t string_count = reader.uleb();
  if (string_count > reader.left()) return std::nullopt;
  std::vector<std::string> strings;
  strings.reserve(string_count);
  for (std::uint64_t i = 0; i < string_count; ++i) strings.emplace_back(reader.take(reader.uleb()));
  bool valid = true;
  const auto text = [&]() -> std::string {
    const std::uint64_t number = reader.uleb();
    if (number < strings.size()) return strings[number];
    valid = false;
    return {};
  };

  ResolvedFrames frames;
  std::uint64_t address = 0;
  const std::uint64_t entry_count = reader.uleb();
  for (std::uint64_t i = 0; i < entry_count && valid && !reader.failed(); ++i) {
    address += reader.uleb();
    const std::uint64_t depth = reader.uleb();
    if (depth > reader.left()) return std::nullopt;
    std::vector<Frame> stack(depth);
    for (Frame& frame : stack) {
      frame.linkage_name = text();
      frame.function = text();
      frame.clone = text();
      frame.file = text();
      if (const std::uint64_t line = reader.uleb(); line != 0) frame.line = static_cast<std::uint32_t>(line - 1);
      const std::uint64_t kind = reader.uleb();
      valid = valid && kind <= static_cast<std::uint64_t>(FrameKind::Inlined);
      frame.kind = static_cast<FrameKind>(kind);
    }
    frames.emplace_hint(frames.end(), address, std::move(stack));
  }
  if (!valid || reader.failed() || !reader.at_end()) return std::nullopt;
  return frames;
}

std::optional<ResolvedFrames> load_symbol_cache(const fs::path& file, std::string_view fingerprint) {
  const std::optional<std::string> bytes = read_file(file);
  if (!bytes) return std::nullopt;
  return decode_symbol_cache(*bytes, fingerprint);
}

void save_symbol_cache(const fs::path& file, std::string_view fingerprint, const ResolvedFrames& frames) {
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  if (failed) return;
  std::string bytes;
  if (std::optional<ResolvedFrames> merged = load_symbol_cache(file, fingerprint)) {
    for (const auto& [address, stack] : frames) merged->insert_or_assign(address, stack);
    bytes = encode_symbol_cache(fingerprint, *merged);
  } else {
    bytes = encode_symbol_cache(fingerprint, frames);
  }
  if (bytes.size() > kMaxFileBytes) return;
  std::string temporary = file.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return;
  const bool written = write_file(fd, bytes);
  if (::close(fd) != 0 || !written || ::rename(temporary.c_str(), file.c_str()) != 0) ::unlink(temporary.c_str());
}

}  // namespace tare::core
