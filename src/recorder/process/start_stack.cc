// Arguments and auxiliary vector: see start_stack.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/process/start_stack.h"

#include <cstring>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include "recorder/base/syscall.h"

extern "C" __attribute__((weak)) void* __libc_stack_end;  // glibc's loader has it

namespace tare::recorder {

namespace {

struct Arguments {
  std::uint64_t count = 0;
  const char* const* words = nullptr;  // with a null at the end
};

// glibc's loader remembers where the count of the arguments lies.
Arguments arguments_at_start() {
  if (&__libc_stack_end == nullptr || __libc_stack_end == nullptr) return {};
  const auto* const stack = static_cast<const std::uint64_t*>(__libc_stack_end);
  const auto* const words = reinterpret_cast<const char* const*>(stack + 1);
  const std::uint64_t count = stack[0];
  constexpr std::uint64_t kMostArguments = 1 << 20;
  if (count == 0 || count > kMostArguments || words[count] != nullptr) return {};
  return {count, words};
}

const char* path_of_exec() { return reinterpret_cast<const char*>(getauxval(AT_EXECFN)); }

// The loader, called as a command, takes its own arguments away and makes the program look executed.
bool is_loaders_command(const Arguments& arguments) {
  const char* const path = path_of_exec();
  if (path == nullptr || arguments.count == 0) return true;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  return std::strncmp(name, "ld-", 3) == 0 || std::strncmp(name, "ld.so", 5) == 0 || path < arguments.words[0];
}

// Does the file begin as the program does that the kernel mapped?
bool is_program(int fd) {
  constexpr std::uint64_t kMostHeaders = 32;
  const std::uint64_t headers = getauxval(AT_PHNUM);
  if (headers == 0 || headers > kMostHeaders || getauxval(AT_PHDR) == 0) return false;
  char bytes[sizeof(Elf64_Ehdr) + kMostHeaders * sizeof(Elf64_Phdr)];
  const long got = sys::call(SYS_pread64, fd, sys::word(bytes), sizeof(bytes), 0);
  Elf64_Ehdr elf;
  if (sys::failed(got) || got < static_cast<long>(sizeof(elf))) return false;
  std::memcpy(&elf, bytes, sizeof(elf));
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phoff != sizeof(elf) || elf.e_phnum != headers)
    return false;
  const std::uint64_t length = headers * sizeof(Elf64_Phdr);
  return static_cast<std::uint64_t>(got) >= sizeof(elf) + length &&
         std::memcmp(bytes + sizeof(elf), reinterpret_cast<const void*>(getauxval(AT_PHDR)), length) == 0;
}

// Is each part of the path a name, and not one that the kernel would leave out?
bool is_plain(const char* path) {
  if (path[0] != '/') return false;
  while (*path == '/') {
    const std::uint64_t length = std::strcspn(++path, "/");
    if (length == 0 || (length <= 2 && std::memcmp(path, "..", length) == 0)) return false;
    path += length;
  }
  return true;
}

// Replaces the first symbolic link in the path by its target.
enum class Links : std::uint8_t { None, Followed, Unclear };
Links follow_first_link(char* path, std::uint64_t capacity) {
  char target[512];
  for (char* end = path; *end != '\0';) {
    char* const part = end;
    end += 1 + std::strcspn(end + 1, "/");
    const char behind = *end;
    *end = '\0';
    const long length = sys::call(SYS_readlinkat, AT_FDCWD, sys::word(path), sys::word(target), sizeof(target));
    *end = behind;
    if (length == -EINVAL) continue;  // no link
    if (sys::failed(length) || length == 0 || length == static_cast<long>(sizeof(target))) return Links::Unclear;
    char* const from = target[0] == '/' ? path : part + 1;
    const std::uint64_t rest = std::strlen(end) + 1;
    const auto added = static_cast<std::uint64_t>(length);
    if (static_cast<std::uint64_t>(from - path) + added + rest > capacity) return Links::Unclear;
    std::memmove(from + added, end, rest);
    std::memcpy(from, target, added);
    return is_plain(path) ? Links::Followed : Links::Unclear;
  }
  return Links::None;
}

// The path by which the kernel executed the program, made absolute. False: it isn't plain.
bool put_executed_path(char* path, std::uint64_t capacity) {
  const char* executed = path_of_exec();
  std::uint64_t at = 0;
  if (executed[0] != '/') {
    while (executed[0] == '.' && executed[1] == '/') executed += 2;
    const long got = sys::call(SYS_getcwd, sys::word(path), static_cast<long>(capacity));
    if (sys::failed(got) || got < 2 || path[0] != '/') return false;
    at = static_cast<std::uint64_t>(got) - 1;
    if (at > 1) path[at++] = '/';
  }
  const std::uint64_t bytes = std::strlen(executed) + 1;
  if (at + bytes > capacity) return false;
  std::memcpy(path + at, executed, bytes);
  return is_plain(path);
}

}  // namespace

CommandLine command_line_at_start() {
  const Arguments arguments = arguments_at_start();
  if (is_loaders_command(arguments)) return {};
  const char* const start = arguments.words[0];
  const char* end = start;
  for (std::uint64_t i = 0; i < arguments.count; ++i) {
    if (arguments.words[i] != end) return {};
    end += std::strlen(end) + 1;
  }
  return {start, static_cast<std::uint64_t>(end - start)};
}

std::uint64_t executable_path(char* path, std::uint64_t capacity) {
  constexpr int kMostLinks = 8;
  if (is_loaders_command(arguments_at_start()) || !put_executed_path(path, capacity)) return 0;
  Links links = Links::Followed;
  for (int followed = 0; links == Links::Followed && followed <= kMostLinks; ++followed) {
    // The kernel's links to open files have no path, and look as if they had one.
    if (std::strncmp(path, "/proc/", 6) == 0 || std::strncmp(path, "/dev/", 5) == 0) return 0;
    links = follow_first_link(path, capacity);
  }
  if (links != Links::None) return 0;
  const long fd = sys::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (sys::failed(fd)) return 0;
  const bool is_same = is_program(static_cast<int>(fd));
  sys::close(fd);
  return is_same ? std::strlen(path) : 0;
}

}  // namespace tare::recorder
