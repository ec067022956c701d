// Layout of a cache file: magic, version, form of the list of tables, identity of the trace (size, time of change, hash
// of its ends), length and hash of the tables, then the tables (table_codec.cc).
#include "core/columns/table_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "core/columns/table_codec.h"
#include "core/columns/table_schema.h"
#include "trace/base/checksum.h"
#include "trace/base/file_bytes.h"
#include "trace/base/large_vector.h"
#include "trace/file/container.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMagic = 0x0a4c425445524154;  // "TARETBL\n"
constexpr std::uint64_t kEndBytes = 4096;             // header and footer with the totals and the last checksums

struct Header {
  std::uint64_t magic;
  std::uint64_t version;
  std::uint64_t form;  // of the list of tables
  std::uint64_t trace_bytes;
  std::uint64_t trace_changed_ns;
  std::uint64_t trace_hash;
  std::uint64_t payload_bytes;
  std::uint64_t payload_hash;
};

class File {
 public:
  File(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Fills all fields but the payload's.
bool identify(const fs::path& trace, Header& header) {
  const Result<trace::TracePlace> place = trace::place_of_trace(trace.string());
  if (!place) return false;
  const File file(place->file, O_RDONLY | O_NONBLOCK);
  struct stat facts{};
  if (!file || ::fstat(file.fd(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  header.trace_bytes = place->bytes.value_or(static_cast<std::uint64_t>(facts.st_size));
  header.trace_changed_ns = static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000u +
                            static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
  std::array<std::uint8_t, 2 * kEndBytes> ends{};
  const std::uint64_t tail = header.trace_bytes > kEndBytes ? header.trace_bytes - kEndBytes : 0;
  if (trace::read_at(file.fd(), ends.data(), std::min(kEndBytes, header.trace_bytes), place->offset) < 0) return false;
  if (trace::read_at(file.fd(), ends.data() + kEndBytes, header.trace_bytes - tail, place->offset + tail) < 0)
    return false;
  header.trace_hash = trace::xxh64(ends, kTablesVersion);
  header.magic = kMagic;
  header.version = kTablesVersion;
  header.form = form_of(table_schemas());
  return true;
}

bool of_one_trace(const Header& a, const Header& b) {
  const auto identity = [](const Header& header) {
    return std::tie(header.magic, header.version, header.form, header.trace_bytes, header.trace_changed_ns,
                    header.trace_hash);
  };
  return identity(a) == identity(b);
}

bool write_all(int fd, const void* data, std::size_t count) {
  const char* at = static_cast<const char*>(data);
  while (count > 0) {
    const ssize_t wrote = ::write(fd, at, count);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += wrote;
    count -= static_cast<std::size_t>(wrote);
  }
  return true;
}

std::string file_name(std::string_view name) { return std::string(name) + "-v" + std::to_string(kTablesVersion); }

std::optional<Tables> read_cache(const fs::path& path, const Header& wanted) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  struct stat facts{};
  if (!file || ::fstat(file.fd(), &facts) != 0) return std::nullopt;
  Header header{};
  if (trace::read_at(file.fd(), &header, sizeof header, 0) != static_cast<std::int64_t>(sizeof header)) {
    return std::nullopt;
  }
  if (!of_one_trace(header, wanted) ||
      header.payload_bytes != static_cast<std::uint64_t>(facts.st_size) - sizeof header) {
    return std::nullopt;
  }
  trace::LargeVector<std::uint8_t> payload(header.payload_bytes);
  if (trace::read_at(file.fd(), payload.data(), payload.size(), sizeof header) !=
      static_cast<std::int64_t>(payload.size())) {
    return std::nullopt;
  }
  if (trace::xxh64(payload, kTablesVersion) != header.payload_hash) return std::nullopt;
  return decode_tables(payload);
}

// Under a name of its own first, so that a reader or a second writer never sees half a cache.
bool write_cache(const fs::path& folder, std::string_view name, const Header& header,
                 const std::vector<std::uint8_t>& payload) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const fs::path path = folder / file_name(name);
  const fs::path draft = path.string() + "." + std::to_string(::getpid());
  bool complete = false;
  {
    const File file(draft, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file) return false;
    complete = write_all(file.fd(), &header, sizeof header) && write_all(file.fd(), payload.data(), payload.size());
  }
  if (complete && std::rename(draft.c_str(), path.c_str()) == 0) return true;
  ::unlink(draft.c_str());
  return false;
}

// Root's files in a folder of another user: that user can't delete them, and could lead the writes elsewhere by links.
bool is_root_elsewhere(const fs::path& trace) {
  struct stat folder{};
  return ::geteuid() == 0 && ::stat((trace.parent_path() / ".").c_str(), &folder) == 0 && folder.st_uid != 0;
}

fs::path user_folder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg == '/') return fs::path(xdg) / "tare";
  if (const char* home = std::getenv("HOME"); home && *home == '/') return fs::path(home) / ".cache" / "tare";
  return {};
}

}  // namespace

TableCache::TableCache(fs::path trace) : trace_(std::move(trace)) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(trace_, ignored);
  const auto beside = [](const fs::path& file) {
    return file.parent_path() / ("." + file.filename().string() + ".cache");
  };
  const auto member = trace::member_path(whole.string());
  folders_.push_back(member ? beside(member->container) / member->name : beside(whole));
  const fs::path user = user_folder();
  if (user.empty()) return;
  // Traces of one name from different folders must not share a cache: the path's hash is part of the folder's name.
  const std::string& text = whole.native();
  const std::uint64_t hash = trace::xxh64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, 0);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  folders_.push_back(user / "tables" / (whole.filename().string() + "-" + digits));
}

std::optional<Tables> TableCache::load(std::string_view name) const {
  Header wanted{};
  if (!identify(trace_, wanted)) return std::nullopt;
  for (const fs::path& folder : folders_) {
    if (auto tables = read_cache(folder / file_name(name), wanted)) return tables;
  }
  return std::nullopt;
}

Status TableCache::store(std::string_view name, const Tables& tables) const {
  Header header{};
  if (!identify(trace_, header)) {
    return Error{ErrorKind::Io, "can't read " + trace_.string() + " to cache its tables: " + std::strerror(errno)};
  }
  const std::vector<std::uint8_t> payload = encode_tables(tables);
  header.payload_bytes = payload.size();
  header.payload_hash = trace::xxh64(payload, kTablesVersion);
  for (const fs::path& folder : folders_) {
    if (&folder == &folders_.front() && folders_.size() > 1 && is_root_elsewhere(trace_)) continue;
    if (write_cache(folder, name, header, payload)) return ok();
  }
  return Error{ErrorKind::Io, "can't write a cache of " + trace_.string() +
                                  ", neither beside it nor in the user's cache "
                                  "folder: every report of it will replay the trace"};
}

}  // namespace tare::core
