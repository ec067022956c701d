// A recording's folder, used only after checks: see spool_folder.h.
#include "trace/spool/spool_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/base/file_bytes.h"
#include "trace/spool/allocator_table.h"
#include "trace/spool/spool_layout.h"

namespace tare::trace {
namespace {

constexpr char kRetiredName[] = "retired";  // see SpoolDirectory::retire()

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string parent_of(const std::string& path) { return path.substr(0, std::min(path.rfind('/'), path.size())); }

int open_control(int folder) {
  const int fd = ::openat(folder, kControlName, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat facts = {};
  char magic[sizeof(LauncherControl::magic)] = {};
  const bool is_ours = ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() &&
                       read_at(fd, magic, sizeof(magic), 0) == static_cast<std::int64_t>(sizeof(magic)) &&
                       std::memcmp(magic, "TARECTL\n", sizeof(magic)) == 0;
  if (is_ours) return fd;
  ::close(fd);
  return -1;
}

// Files that launcher, recorder and requesters make beside the spools.
bool is_made_by_a_recording(std::string_view name) {
  if (name == kControlName || name == kAllocatorsName || name == kRetiredName || is_unfinished_spool_name(name))
    return true;
  for (const std::string_view suffix : {kNoticeSuffix, kRequestSuffix, kAnswerSuffix, kBytesSuffix}) {
    if (name.ends_with(suffix)) return true;
  }
  std::uint32_t pid = 0;
  std::uint32_t image = 0;
  return parse_spool_name(std::string(name), pid, image);
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(listing)) names.emplace_back(entry->d_name);
  ::closedir(listing);
  return names;
}

}  // namespace

bool is_unfinished_spool_name(std::string_view name) {
  constexpr std::string_view kAround = "..tmp";
  return name.size() > kAround.size() && name.front() == '.' && name.ends_with(".tmp") &&
         name.find_first_not_of("0123456789.") == name.size() - 3;
}

bool parse_spool_name(const std::string& name, std::uint32_t& pid, std::uint32_t& image) {
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, pid);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return false;
  const auto second = std::from_chars(first.ptr + 1, end, image);
  return second.ec == std::errc{} &&
         std::string_view(second.ptr, static_cast<std::size_t>(end - second.ptr)) == kSpoolSuffix;
}

std::optional<SpoolFolder> SpoolFolder::around(const std::string& spool_path) {
  const std::string path = parent_of(spool_path);
  if (path.empty() || path.front() != '/' || !last_part(path).starts_with(SpoolFolder::kPrefix)) {
    return std::nullopt;
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat facts = {};
  const bool is_own = ::fstat(fd, &facts) == 0 && facts.st_uid == ::geteuid();
  const int control = is_own ? open_control(fd) : -1;
  if (control < 0) {
    ::close(fd);
    return std::nullopt;
  }
  return SpoolFolder(path, fd, control);
}

SpoolFolder::SpoolFolder(SpoolFolder&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      control_fd_(std::exchange(other.control_fd_, -1)) {}

SpoolFolder::~SpoolFolder() {
  if (control_fd_ >= 0) ::close(control_fd_);
  if (fd_ >= 0) ::close(fd_);
}

bool SpoolFolder::has_spool(const std::string& name) const {
  std::uint32_t pid = 0;
  std::uint32_t image = 0;
  struct stat facts = {};
  return parse_spool_name(name, pid, image) && ::fstatat(fd_, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(facts.st_mode);
}

bool SpoolFolder::launcher_lives() const {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(control_fd_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void SpoolFolder::remove_spool(const std::string& name) {
  if (!has_spool(name)) return;
  ::unlinkat(fd_, name.c_str(), 0);
  const std::vector<std::string> names = names_in(fd_);
  for (const std::string& other : names) {
    struct stat facts = {};
    if (has_spool(other) && ::fstatat(fd_, other.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && facts.st_size != 0) {
      return;  // another process's
    }
  }
  remove_made(names);
}

bool SpoolFolder::remove_made(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (is_made_by_a_recording(name)) ::unlinkat(fd_, name.c_str(), 0);
  }
  if (::rmdir(path_.c_str()) != 0) return false;  // something else lies there
  const std::string above = parent_of(path_);
  if (last_part(above).starts_with(SpoolFolder::kPrefix)) ::rmdir(above.c_str());
  return true;
}

bool SpoolFolder::remove_all() { return remove_made(names_in(fd_)); }

SpoolFolder::Contents SpoolFolder::contents() const {
  Contents contents;
  for (const std::string& name : names_in(fd_)) {
    struct stat facts = {};
    if (::fstatat(fd_, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    contents.bytes += static_cast<std::uint64_t>(facts.st_blocks) * 512;
    if (has_spool(name) && facts.st_size != 0) ++contents.spools;
  }
  return contents;
}

}  // namespace tare::trace
