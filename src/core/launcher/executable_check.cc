// Follows a command as execve does: see executable_check.h.
#include "core/launcher/executable_check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "trace/base/file_bytes.h"
#include "trace/model/executable_kind.h"

namespace tare::core {

namespace {

constexpr int kMaxInterpreters = 5;  // scripts of scripts: the kernel's own limit

bool is_executable_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

Error cannot_record(const std::string& path, const std::string& why) {
  return {ErrorKind::CannotRecord, "cannot record " + path + ": " + why};
}

Result<std::string> find_in_path(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    if (::access(command.c_str(), F_OK) != 0) {
      return Error{ErrorKind::CommandNotFound, command + ": no such file; check the path of the command"};
    }
    if (!is_executable_file(command))
      return cannot_record(command, "it isn't an executable file; check its permissions");
    return command;
  }
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/bin:/usr/bin";
  for (std::size_t at = 0; at <= path.size() && !command.empty();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = end == at ? "." : path.substr(at, end - at);
    if (std::string candidate = folder + "/" + command; is_executable_file(candidate)) return candidate;
    at = end + 1;
  }
  return Error{ErrorKind::CommandNotFound, "'" + command + "': command not found in PATH; give its path or install it"};
}

// Programs that gain rights are started without LD_PRELOAD (ld.so's secure mode).
bool gains_rights(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) return true;
  if ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != ::getegid()) return true;
  return ::geteuid() != 0 && ::fgetxattr(fd, "security.capability", nullptr, 0) > 0;
}

Status check_elf(const std::string& path, int fd) {
  trace::ExecutableProbe probe(
      [fd](void* to, std::size_t bytes, std::uint64_t offset) { return trace::read_at(fd, to, bytes, offset); });
  const trace::ExecutableKind kind = probe.kind();
  if (kind == trace::ExecutableKind::Other32Bit)
    return cannot_record(path, "it is a 32-bit program; build it for 64 bits");
  if (kind == trace::ExecutableKind::OtherMachine) {
    return cannot_record(path, "it is built for another architecture; run it on its own machine");
  }
  if (gains_rights(fd)) {
    return cannot_record(path,
                         "it is setuid, setgid or has file capabilities, and such programs ignore preloading; run tare "
                         "as the user it becomes, or record a copy without those bits");
  }
  if (kind == trace::ExecutableKind::Sanitized) {
    return cannot_record(path, std::string("it is built with a sanitizer (") + probe.library() +
                                   "), which brings an allocator that must come first; build it without -fsanitize");
  }
  if (kind != trace::ExecutableKind::Static) return ok();
  return cannot_record(path,
                       "it is linked statically, and only dynamic programs load the recorder; link it dynamically");
}

// The interpreter that a script names in its first line.
std::string interpreter_of(const char* head, std::size_t bytes) {
  std::size_t at = 2;
  while (at < bytes && (head[at] == ' ' || head[at] == '\t')) ++at;
  std::size_t end = at;
  while (end < bytes && std::strchr(" \t\n", head[end]) == nullptr && head[end] != '\0') ++end;
  return {head + at, end - at};
}

}  // namespace

Result<Executable> find_executable(const std::string& command) {
  Result<std::string> found = find_in_path(command);
  if (!found) return found.error();
  Executable executable{*found, {}};
  std::string path = *found;
  for (int depth = 0; depth < kMaxInterpreters; ++depth) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return executable;  // executable but unreadable: execve may succeed
    char head[256] = {};
    const std::int64_t got = trace::read_at(fd, head, sizeof(head) - 1, 0);
    const std::size_t bytes = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (bytes >= sizeof(Elf64_Ehdr) && std::memcmp(head, ELFMAG, SELFMAG) == 0) {
      const Status status = check_elf(path, fd);
      ::close(fd);
      if (!status) return status.error();
      return executable;
    }
    ::close(fd);
    if (bytes >= 2 && head[0] == '#' && head[1] == '!') {
      const std::string script = path;
      path = interpreter_of(head, bytes);
      if (::access(path.c_str(), F_OK) != 0) {
        return Error{ErrorKind::CommandNotFound,
                     script + ": its interpreter '" + path + "' doesn't exist; correct its first line"};
      }
      continue;
    }
    if (depth == 0) {  // execvp and shells run text as a script if execve refuses it
      executable.before_args = {"/bin/sh", executable.path};
      executable.path = "/bin/sh";
    }
    return executable;
  }
  return cannot_record(*found, "its #! line leads to other scripts, and never to a binary");
}

}  // namespace tare::core
