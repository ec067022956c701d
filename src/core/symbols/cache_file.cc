#include "core/symbols/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "core/symbols/byte_reader.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = 256u << 20;

std::uint64_t checksum(std::string_view bytes) {  // FNV-1a
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const char byte : bytes) sum = (sum ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3u;
  return sum;
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

fs::path default_cache_dir(std::string_view kind) {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return fs::path(xdg) / "tare" / kind;
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "tare" / kind;
  return {};
}

std::optional<std::string> read_cache_file(const fs::path& path) {
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

void replace_cache_file(const fs::path& path, std::string_view bytes) {
  if (bytes.size() > kMaxFileBytes) return;
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return;
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return;
  const bool written = write_file(fd, bytes);
  if (::close(fd) != 0 || !written || ::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
}

std::string seal_cache(std::string_view magic, std::string_view body) {
  std::string file(magic);
  const std::uint64_t sum = checksum(body);
  file.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return file.append(body);
}

std::optional<std::string_view> unseal_cache(std::string_view magic, std::string_view file) {
  ByteReader reader(file);
  if (reader.take(magic.size()) != magic) return std::nullopt;
  const std::uint64_t sum = reader.u64();
  const std::string_view body(reader.position(), reader.left());
  if (reader.failed() || checksum(body) != sum) return std::nullopt;
  return body;
}

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put(std::string& out, std::string_view text) {
  put(out, text.size());
  out += text;
}

void put_texts(std::string& out, const std::vector<std::string_view>& texts) {
  put(out, texts.size());
  for (const std::string_view text : texts) put(out, text);
}

std::optional<std::vector<std::string>> take_texts(ByteReader& reader) {
  const std::uint64_t count = reader.uleb();
  if (count > reader.left()) return std::nullopt;
  std::vector<std::string> texts;
  texts.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) texts.emplace_back(reader.take(reader.uleb()));
  return texts;
}

}  // namespace tare::core
