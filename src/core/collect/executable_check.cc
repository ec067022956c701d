// What execve would do with a command: see executable_check.h.
#include "core/collect/executable_check.h"

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
#include <vector>

#include "trace/file_bytes.h"

namespace tare::core {

namespace {

constexpr int kMaxInterpreters = 5;  // scripts of scripts: the kernel's own limit

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
#error "one line per architecture"
#endif

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

std::vector<Elf64_Phdr> segments_of(int fd, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::uint32_t i = 0; i < header.e_phnum && header.e_phentsize >= sizeof(Elf64_Phdr); ++i) {
    Elf64_Phdr segment;
    const std::uint64_t offset = header.e_phoff + std::uint64_t{i} * header.e_phentsize;
    if (trace::read_at(fd, &segment, sizeof(segment), offset) != sizeof(segment)) break;
    segments.push_back(segment);
  }
  return segments;
}

// The sanitizer's library that a program names among those it needs, or nothing. Behind another malloc such a program
// ends at once (address) or crashes (thread); the one for undefined behaviour has no allocator and is fine.
std::string needed_sanitizer(int fd, const std::vector<Elf64_Phdr>& segments) {
  constexpr std::uint64_t kMostEntries = 4096;  // some hundred in the largest programs
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    entries.resize(std::min(segment.p_filesz / sizeof(Elf64_Dyn), kMostEntries));
    const std::size_t bytes = entries.size() * sizeof(Elf64_Dyn);
    if (trace::read_at(fd, entries.data(), bytes, segment.p_offset) != static_cast<std::int64_t>(bytes)) return {};
  }
  std::uint64_t strings = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || strings - segment.p_vaddr >= segment.p_filesz) continue;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag != DT_NEEDED) continue;
      char name[64] = {};
      const std::uint64_t offset = segment.p_offset + (strings - segment.p_vaddr) + entry.d_un.d_val;
      if (trace::read_at(fd, name, sizeof(name) - 1, offset) <= 0) continue;
      for (const char* start : {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan",
                                "libclang_rt.tsan", "libclang_rt.hwasan"}) {
        if (std::strncmp(name, start, std::strlen(start)) == 0) return name;
      }
    }
    break;
  }
  return {};
}

Status check_elf(const std::string& path, int fd, const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return cannot_record(path, "it is a 32-bit program; build it for 64 bits");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachine) {
    return cannot_record(path, "it is built for another architecture; run it on its own machine");
  }
  if (gains_rights(fd)) {
    return cannot_record(path,
                         "it is setuid, setgid or has file capabilities, and such programs ignore preloading; run tare "
                         "as the user it becomes, or record a copy without those bits");
  }
  const std::vector<Elf64_Phdr> segments = segments_of(fd, header);
  const auto has = [&](std::uint32_t type) {
    return std::any_of(segments.begin(), segments.end(), [&](const Elf64_Phdr& s) { return s.p_type == type; });
  };
  if (const std::string library = needed_sanitizer(fd, segments); !library.empty()) {
    return cannot_record(path, "it is built with a sanitizer (" + library +
                                   "), which brings an allocator that must come first; build it without -fsanitize");
  }
  if (has(PT_INTERP)) return ok();
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
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return executable;  // executable but unreadable: execve may know better
    alignas(Elf64_Ehdr) char head[256] = {};
    const std::int64_t got = trace::read_at(fd, head, sizeof(head) - 1, 0);
    const std::size_t bytes = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (bytes >= sizeof(Elf64_Ehdr) && std::memcmp(head, ELFMAG, SELFMAG) == 0) {
      const Status status = check_elf(path, fd, *reinterpret_cast<const Elf64_Ehdr*>(head));
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
    if (depth == 0) {  // what execvp and shells do with text that execve refuses
      executable.before_args = {"/bin/sh", executable.path};
      executable.path = "/bin/sh";
    }
    return executable;
  }
  return cannot_record(*found, "its interpreters are scripts without end");
}

}  // namespace tare::core
