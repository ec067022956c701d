// Directory and control file of a recording: see spool_directory.h.
#include "core/launcher/spool_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "core/process_memory/program_root.h"
#include "trace/spool/allocator_table.h"
#include "trace/spool/spool_folder.h"

namespace tare::core {

using trace::LauncherControl;

namespace {

constexpr char kEnvSpoolParent[] = "TARE_SPOOL_PARENT";
constexpr std::uint64_t kLeastFreeBytes = 32 << 20;  // half of the amount that one process may fill while it's drained
constexpr std::size_t kMostPrograms = 64;            // kept of those that went unrecorded; a few are named
constexpr std::uint32_t kWakeProcesses = 32;         // a shell's ten children; their spools take 1 MiB meanwhile
constexpr std::uint32_t kWakeChunks = 16;  // one block's worth: some 200 wakes a second at 10 M events a second

// Moves `path` into a secret directory of its own. Errno, 0 for success.
int open_to_other_users(std::string& path) {
  std::uint64_t secret[2];
  if (::getrandom(secret, sizeof(secret), 0) != sizeof(secret)) return errno;
  char name[40];
  std::snprintf(name, sizeof(name), "/tare-%016lx%016lx", secret[0], secret[1]);
  const std::string inner = path + name;
  // chmod, for the umask takes rights away from mkdir's.
  const bool done =
      ::mkdir(inner.c_str(), 0700) == 0 && ::chmod(inner.c_str(), 01733) == 0 && ::chmod(path.c_str(), 0711) == 0;
  const int error = errno;
  if (!done) {
    ::rmdir(inner.c_str());
    ::rmdir(path.c_str());
    return error;
  }
  path = inner;
  return 0;
}

// Errno, 0 for success.
int try_create(const std::string& folder, std::string& path) {
  struct statvfs space;
  if (::statvfs(folder.c_str(), &space) != 0) return errno;
  if (std::uint64_t{space.f_bavail} * space.f_frsize < kLeastFreeBytes) return ENOSPC;
  path = folder + "/tare-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return errno;
  return ::geteuid() == 0 ? open_to_other_users(path) : 0;
}

}  // namespace

Result<SpoolDirectory> SpoolDirectory::create(const std::string& last_resort) {
  const char* temporary = std::getenv("TMPDIR");
  const char* wanted = std::getenv(kEnvSpoolParent);
  std::vector<std::string> folders{"/dev/shm", temporary != nullptr && *temporary != '\0' ? temporary : "/tmp",
                                   last_resort};
  if (wanted != nullptr && *wanted != '\0') folders.insert(folders.begin(), wanted);
  SpoolDirectory directory;
  int error = 0;
  for (const std::string& folder : folders) {
    error = try_create(folder, directory.path_);
    if (error == 0) break;
  }
  if (error != 0) {
    directory.path_.clear();
    return Error{ErrorKind::Io, "no place for the recording's buffers (tried /dev/shm, TMPDIR and " + last_resort +
                                    "): " + std::strerror(error) + "; free some space or set TMPDIR"};
  }
  directory.path_in_program_ = directory.path_;
  if (Status made = directory.make_control(); !made) return made.error();
  return directory;
}

Result<SpoolDirectory> SpoolDirectory::create_for(pid_t pid, const std::string& last_resort) {
  if (!has_other_root(pid)) return create(last_resort);
  const AsUserOf owner(pid);
  SpoolDirectory directory;
  directory.root_of_program_ = root_of(pid);
  int error = 0;
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    error = try_create(directory.root_of_program_ + folder, directory.path_);
    if (error == 0) {
      directory.parent_bytes_ = std::strlen(folder);
      directory.parent_fd_ = ::open((directory.root_of_program_ + folder).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      break;
    }
  }
  if (error != 0) {
    return Error{ErrorKind::Io, "no place for the recording's buffers in the root of process " + std::to_string(pid) +
                                    " (tried its /dev/shm and /tmp): " + std::strerror(error) +
                                    "; give it a writable one with 32 MiB free"};
  }
  directory.path_in_program_ = directory.path_.substr(directory.root_of_program_.size());
  directory.folder_fd_ = ::open(directory.path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory.folder_fd_ < 0 || directory.parent_fd_ < 0) {
    return Error{ErrorKind::Io, "cannot open " + directory.path_ + ": " + std::strerror(errno)};
  }
  directory.path_ = "/proc/self/fd/" + std::to_string(directory.folder_fd_);
  if (Status made = directory.make_control(); !made) return made.error();
  return directory;
}

Status SpoolDirectory::make_control() {
  const auto failed = [&](const char* what) {
    return Error{ErrorKind::Io, std::string("cannot ") + what + " " + path_ + "/" + trace::kControlName + ": " +
                                    std::strerror(errno) + "; check the free space there"};
  };
  const std::string name = path_ + "/" + trace::kControlName;
  control_fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (control_fd_ < 0) return failed("create");
  if (::geteuid() == 0) ::fchmod(control_fd_, 0666);  // as secret as its directory
  // Written, not left sparse: a full disk shows here and not as SIGBUS later.
  const std::vector<char> zeros(sizeof(LauncherControl), '\0');
  if (::write(control_fd_, zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size())) return failed("write");
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(control_fd_, F_SETLK, &lock) != 0) return failed("lock");
  control_ = trace::GuardedMapping(sizeof(LauncherControl), PROT_READ | PROT_WRITE, MAP_SHARED, control_fd_, 0);
  if (control_.data() == nullptr) return failed("map");
  LauncherControl& control = *new (control_.data()) LauncherControl{};
  control.version = trace::kSpoolVersion;
  control.launcher_pid = static_cast<std::uint32_t>(::getpid());
  control.wake_chunks = kWakeChunks;
  control.wake_processes = kWakeProcesses;
  std::memcpy(control.magic, "TARECTL\n", sizeof(control.magic));
  return ok();
}

SpoolDirectory::SpoolDirectory(SpoolDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      path_in_program_(std::move(other.path_in_program_)),
      root_of_program_(std::move(other.root_of_program_)),
      folder_fd_(std::exchange(other.folder_fd_, -1)),
      parent_fd_(std::exchange(other.parent_fd_, -1)),
      parent_bytes_(other.parent_bytes_),
      control_fd_(std::exchange(other.control_fd_, -1)),
      control_(std::move(other.control_)),
      left_behind_(other.left_behind_),
      abandoned_(other.abandoned_) {}

SpoolDirectory::~SpoolDirectory() {
  if (!path_.empty() && !left_behind_) {
    // First: a process that makes its spool after the list of spools was read finds no launcher, and deletes it.
    ::unlink((path_ + "/" + trace::kControlName).c_str());
    if (abandoned_) {
      for (const std::string& name : spools()) forget(name);
    }
    UnrecordedByReason late;
    take_notices(late);
    for (const auto& [request, text] : take_requests()) leave_answer(request, "no the recording is over");
    forget_remains();
    ::unlink((path_ + "/" + trace::kAllocatorsName).c_str());
    // Not empty: a spool that couldn't be read is worth keeping.
    const std::string folder = parent_fd_ < 0 ? path_ : path_in_program_.substr(parent_bytes_ + 1);
    const int from = parent_fd_ < 0 ? AT_FDCWD : parent_fd_;
    ::unlinkat(from, folder.c_str(), AT_REMOVEDIR);
    const std::string above = folder.substr(0, std::min(folder.rfind('/'), folder.size()));
    if (above != folder && above.substr(above.rfind('/') + 1).starts_with("tare-"))
      ::unlinkat(from, above.c_str(), AT_REMOVEDIR);
  }
  if (folder_fd_ >= 0) ::close(folder_fd_);
  if (parent_fd_ >= 0) ::close(parent_fd_);
  if (control_fd_ >= 0) ::close(control_fd_);
}

// Deletes unclaimed answers, and spools of processes that were killed while they made them.
void SpoolDirectory::forget_remains() const {
  DIR* folder = ::opendir(path_.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    pid_t asker = 0;
    std::from_chars(name.data(), name.data() + name.size(), asker);
    const bool is_gone = asker > 0 && ::kill(asker, 0) != 0 && errno == ESRCH;
    if (name.ends_with(trace::kBytesSuffix) || (name.ends_with(trace::kAnswerSuffix) && is_gone) ||
        trace::is_unfinished_spool_name(name)) {
      ::unlinkat(::dirfd(folder), entry->d_name, 0);
    }
  }
  ::closedir(folder);
}

void SpoolDirectory::abandon_spools() {
  if (control_fd_ >= 0) ::close(std::exchange(control_fd_, -1));
  abandoned_ = true;
}

// By rename and not by truncation: a forked child that hasn't made its own spool yet still reads its parent's.
void SpoolDirectory::retire(const std::string& name) const {
  const std::string placeholder = path_ + "/retired";
  const int fd = ::open(placeholder.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  if (fd < 0 || ::rename(placeholder.c_str(), (path_ + "/" + name).c_str()) != 0) forget(name);
}

void SpoolDirectory::forget(const std::string& name) const { ::unlink((path_ + "/" + name).c_str()); }

bool SpoolDirectory::put_allocators(const std::string& table) const {
  const std::string path = path_ + "/" + trace::kAllocatorsName;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const ssize_t written = ::write(fd, table.data(), table.size());
  const int reason = written < 0 ? errno : EFBIG;  // a limit of the file's size cuts a write
  ::close(fd);
  if (written == static_cast<ssize_t>(table.size())) return true;
  ::unlink(path.c_str());
  errno = reason;
  return false;
}

void SpoolDirectory::take_notices(UnrecordedByReason& all) const {
  DIR* folder = ::opendir(path_.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(trace::kNoticeSuffix)) continue;
    char text[1024];
    const ssize_t length = ::readlinkat(::dirfd(folder), entry->d_name, text, sizeof(text));
    ::unlinkat(::dirfd(folder), entry->d_name, 0);
    if (length <= 0) continue;
    const std::string_view notice(text, static_cast<std::size_t>(length));
    const std::size_t end = std::min(notice.find('\n'), notice.size());
    const std::string program(notice.substr(0, end));
    Unrecorded& same = all[std::string(notice.substr(std::min(end + 1, notice.size())))];
    ++same.processes;
    if (same.programs.size() < kMostPrograms) same.programs.insert(program);
  }
  ::closedir(folder);
}

void SpoolDirectory::forget_notices_of(pid_t pid) const {
  const std::string begin = std::to_string(pid) + ".";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(begin) && name.ends_with(trace::kNoticeSuffix)) ::unlink(entry.path().c_str());
  }
}

std::vector<std::pair<std::string, std::string>> SpoolDirectory::take_requests() const {
  std::vector<std::pair<std::string, std::string>> requests;
  DIR* folder = ::opendir(path_.c_str());
  if (folder == nullptr) return requests;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(trace::kRequestSuffix)) continue;
    char text[1024];
    const ssize_t length = ::readlinkat(::dirfd(folder), entry->d_name, text, sizeof(text));
    ::unlinkat(::dirfd(folder), entry->d_name, 0);
    if (length > 0) requests.emplace_back(name, std::string(text, static_cast<std::size_t>(length)));
  }
  ::closedir(folder);
  std::sort(requests.begin(), requests.end());
  return requests;
}

Result<std::string> SpoolDirectory::leave_bytes(const std::string& request, std::span<const std::uint8_t> bytes) const {
  const std::string name = request.substr(0, request.find('.')) + trace::kBytesSuffix;
  const std::string path = path_ + "/" + name;
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool whole = fd >= 0;
  while (whole && !bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    whole = wrote > 0;
    if (whole) bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (whole) return name;
  ::unlink(path.c_str());
  return Error{ErrorKind::Io, "cannot write " + path + ": " + std::strerror(error) + "; free some space there"};
}

void SpoolDirectory::leave_answer(const std::string& request, const std::string& text) const {
  constexpr std::size_t kMostLinkBytes = 4000;
  const std::string stem = request.substr(0, request.size() - (sizeof(trace::kRequestSuffix) - 1));
  (void)::symlink(text.substr(0, kMostLinkBytes).c_str(), (path_ + "/" + stem + trace::kAnswerSuffix).c_str());
}

std::vector<std::string> SpoolDirectory::spools() const {
  struct Found {
    std::uint32_t pid, image;
    std::string name;
  };
  std::vector<Found> found;
  if (DIR* folder = ::opendir(path_.c_str())) {
    while (const dirent* entry = ::readdir(folder)) {
      Found spool{0, 0, entry->d_name};
      if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) continue;  // no link to another's file
      if (trace::parse_spool_name(spool.name, spool.pid, spool.image)) found.push_back(std::move(spool));
    }
    ::closedir(folder);
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.pid != b.pid ? a.pid < b.pid : a.image < b.image; });
  std::vector<std::string> names;
  for (Found& spool : found) names.push_back(std::move(spool.name));
  return names;
}

}  // namespace tare::core
