// Classifies a program by its file, and prepares its environment.
#include "recorder/process/exec_target.h"

#include <cstring>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "recorder/recorder.h"
#include "trace/model/executable_kind.h"

extern "C" char** environ;

namespace tare::recorder {

namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr char kLibraryName[] = "libtare-record.so";
constexpr std::uint64_t kMostVariables = 4096;  // 32 KiB of stack for a copy of the environment
constexpr int kMostInterpreters = 5;            // the kernel's limit

// Reads through a window: the headers take one system call instead of twenty.
class WindowedFile {
 public:
  explicit WindowedFile(int fd) : fd_(fd) {}
  std::int64_t operator()(void* to, std::uint64_t bytes, std::uint64_t offset) {
    if (offset < start_ || offset + bytes > start_ + held_) {
      const long got = sys::call(SYS_pread64, fd_, sys::word(window_), sizeof(window_), static_cast<long>(offset));
      start_ = offset;
      held_ = sys::failed(got) ? 0 : static_cast<std::uint64_t>(got);
    }
    const std::uint64_t there = start_ + held_ - offset;
    const std::uint64_t taken = bytes < there ? bytes : there;
    std::memcpy(to, window_ + (offset - start_), taken);
    return static_cast<std::int64_t>(taken);
  }

 private:
  int fd_;
  std::uint64_t start_ = 0;
  std::uint64_t held_ = 0;
  char window_[1024];
};

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Will the loader ignore LD_PRELOAD, because the program gets rights that its caller lacks?
bool gains_rights(int fd) {
  constexpr int kGetNoNewPrivileges = 39;
  struct stat status = {};
  if (sys::failed(sys::call(SYS_fstat, fd, sys::word(&status)))) return false;
  const auto user = static_cast<unsigned>(sys::call(SYS_geteuid));
  bool gains = (status.st_mode & S_ISUID) != 0 && status.st_uid != user;
  gains |= (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
           status.st_gid != static_cast<unsigned>(sys::call(SYS_getegid));
  if (!gains && user != 0) {
    gains = sys::call(SYS_fgetxattr, fd, sys::word("security.capability"), 0, 0) > 0;
  }
  return gains && sys::call(SYS_prctl, kGetNoNewPrivileges) != 1;
}

// A sanitizer's allocator must come first, and other loaders write that they can't load the library to the program's
// standard error. Static programs ignore the variable and hand it on to their children.
bool is_harmed_by_preload(trace::ExecutableKind kind) {
  switch (kind) {
    case trace::ExecutableKind::Sanitized:
    case trace::ExecutableKind::Other32Bit:
    case trace::ExecutableKind::OtherMachine:
      return true;
    case trace::ExecutableKind::Recordable:
    case trace::ExecutableKind::Static:
      return false;
  }
  return false;
}

const char* reason_of(trace::ExecutableKind kind) {
  switch (kind) {
    case trace::ExecutableKind::Recordable:
      return nullptr;
    case trace::ExecutableKind::Sanitized:
      return "built with a sanitizer, whose allocator must come first";
    case trace::ExecutableKind::Static:
      return "linked statically, and only dynamic programs load the recorder";
    case trace::ExecutableKind::Other32Bit:
      return "built for 32 bits";
    case trace::ExecutableKind::OtherMachine:
      return "built for another architecture";
  }
  return nullptr;
}

// The next entry of a list that has blanks and colons between them; null at its end.
const char* next_entry(const char* list, std::uint64_t& length) {
  list += std::strspn(list, ": ");
  length = std::strcspn(list, ": ");
  return length == 0 ? nullptr : list;
}

bool is_own(const char* entry, std::uint64_t length) {
  constexpr std::uint64_t kLength = sizeof(kLibraryName) - 1;
  return length > kLength && entry[length - kLength - 1] == '/' &&
         std::memcmp(entry + length - kLength, kLibraryName, kLength) == 0;
}

const char* preload_of(char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, kPreload, sizeof(kPreload) - 1) == 0) return *environment + sizeof(kPreload) - 1;
  }
  return "";
}

enum class Library : std::uint8_t { Readable, Unreadable, Absent, NotNamed };

// Is this library among those to be preloaded, and may the user that this process is now read it?
Library library_in(const char* preload) {
  std::uint64_t length = 0;
  for (const char* entry = preload; (entry = next_entry(entry, length)) != nullptr; entry += length) {
    if (!is_own(entry, length)) continue;
    char path[1024];
    Text(path, sizeof(path)).add_bytes(entry, length);
    const long fd = sys::open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -EACCES) return Library::Unreadable;
    if (fd == -ENOENT || fd == -ENOTDIR) return Library::Absent;
    if (!sys::failed(fd)) sys::close(fd);
    return Library::Readable;
  }
  return Library::NotNamed;
}

}  // namespace

ExecTarget::ExecTarget(const char* file) {
  const long fd = sys::open(file, O_RDONLY | O_CLOEXEC);
  if (sys::failed(fd)) return;  // no file, or an unreadable one: execve decides
  inspect(static_cast<int>(fd), file);
  sys::close(fd);
}

ExecTarget ExecTarget::of_descriptor(int fd) {
  ExecTarget target;
  target.inspect(fd, "a program");
  return target;
}

ExecTarget ExecTarget::in_search_path(const char* file) {
  if (std::strchr(file, '/') != nullptr) return ExecTarget(file);
  const char* path = "/bin:/usr/bin";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "PATH=", 5) != 0) continue;
    path = *entry + 5;
    break;
  }
  for (;; ++path) {
    const std::uint64_t length = std::strcspn(path, ":");
    char candidate[1024];
    Text text(candidate, sizeof(candidate));
    text.add_bytes(path, length).add(length == 0 ? "./" : "/").add(file);
    if (!text.overflowed() && !sys::failed(sys::call(SYS_faccessat, AT_FDCWD, sys::word(candidate), 1 /* X_OK */))) {
      return ExecTarget(candidate);
    }
    path += length;
    if (*path == '\0') return {};
  }
}

void ExecTarget::inspect(int fd, const char* name) {
  Text(name_, sizeof(name_)).add(base_name(name));
  char interpreter[256];
  for (int depth = 0; depth < kMostInterpreters; ++depth) {
    WindowedFile file(fd);
    char head[sizeof(interpreter)];
    const std::int64_t got = file(head, sizeof(head) - 1, 0);
    head[got > 0 ? got : 0] = '\0';
    if (got > 0 && std::memcmp(head, ELFMAG, SELFMAG) == 0) {
      // The loader itself, called as a program, does preload.
      const bool is_loader = std::strncmp(base_name(depth == 0 ? name : interpreter), "ld-", 3) == 0;
      trace::ExecutableProbe probe(file);
      const trace::ExecutableKind kind = is_loader ? trace::ExecutableKind::Recordable : probe.kind();
      reason_ = reason_of(kind);
      if (is_harmed_by_preload(kind)) preload_ = Preload::Drop;
      if (reason_ == nullptr && gains_rights(fd)) {
        reason_ = "setuid, setgid or with file capabilities, and such programs ignore preloading";
      }
    }
    if (depth > 0) sys::close(fd);
    if (head[0] != '#' || head[1] != '!') return;
    const char* start = head + 2 + std::strspn(head + 2, " \t");
    Text(interpreter, sizeof(interpreter)).add_bytes(start, std::strcspn(start, " \t\n"));
    const long next = sys::open(interpreter, O_RDONLY | O_CLOEXEC);
    if (sys::failed(next)) return;
    fd = static_cast<int>(next);
  }
  sys::close(fd);
}

std::uint64_t ExecTarget::prepare(char* const* environment) {
  if (name_[0] == '\0') return 0;
  const char* const preload = preload_of(environment);
  const Library library = library_in(preload);
  if (library == Library::Unreadable) {
    preload_ = Preload::Drop;  // or the loader complains of it in each of the program's children
    reason_ = "the user that they became can't read the recorder's library; install tare where all users can";
  } else if (library == Library::Absent) {
    preload_ = Preload::Drop;
    reason_ = "their root directory doesn't hold the recorder's library";
  } else if (library == Library::NotNamed) {
    preload_ = Preload::Keep;
    reason_ = "started with an environment that lacks LD_PRELOAD";
  }
  if (reason_ == nullptr) return 0;
  recorder.leave_notice(notice_, name_, reason_);
  if (preload_ == Preload::Keep) return 0;
  std::uint64_t count = 0;
  while (environment[count] != nullptr) ++count;
  if (count > kMostVariables) return 0;
  return count + 1 + (sizeof(kPreload) + std::strlen(preload)) / sizeof(char*) + 1;
}

char* const* ExecTarget::environment_in(char** words, char* const* environment) const {
  std::uint64_t count = 0;
  char* changed = nullptr;
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, kPreload, sizeof(kPreload) - 1) != 0) {
      words[count++] = *entry;
    } else {
      changed = *entry;
    }
  }
  if (changed != nullptr) {
    const char* list = changed + sizeof(kPreload) - 1;
    char* const start = reinterpret_cast<char*>(words + count + 2);
    Text text(start, static_cast<std::uint32_t>(sizeof(kPreload) + std::strlen(list)));
    text.add(kPreload);
    std::uint64_t length = 0;
    for (const char* entry = list; (entry = next_entry(entry, length)) != nullptr; entry += length) {
      if (is_own(entry, length)) continue;
      if (text.length() >= sizeof(kPreload)) text.add(":");
      text.add_bytes(entry, length);
    }
    if (text.length() >= sizeof(kPreload)) words[count++] = start;
  }
  words[count] = nullptr;
  return words;
}

}  // namespace tare::recorder
