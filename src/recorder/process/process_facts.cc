// Reading the process's facts from the kernel straight into the spool.
#include "recorder/process/process_facts.h"

#include <cstring>

#include <fcntl.h>
#include <sys/utsname.h>

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/hooks/real.h"

namespace tare::recorder {

namespace {

constexpr std::uint64_t kPathMax = 4096;

trace::StringRef text(Spool& spool, const char* value, std::uint64_t length) {
  char* space = spool.begin_string(length);
  if (space == nullptr) return {0, 0};
  std::memcpy(space, value, length);
  return spool.end_string(length);
}

// Through the scratch buffer: room in the spool for the longest of paths would be pages that most processes never use.
trace::StringRef link_target(Spool& spool, const char* link) {
  char* target = spool.path_buffer();
  const long length = sys::call(SYS_readlinkat, AT_FDCWD, sys::word(link), sys::word(target), kPathMax);
  return text(spool, target, sys::failed(length) ? 0 : static_cast<std::uint64_t>(length));
}

// "pid:[4026531836]": the number in brackets. By the link and not by stat, for sandboxes allow readlink more often.
std::uint64_t pid_namespace() {
  char target[64];
  const long length =
      sys::call(SYS_readlinkat, AT_FDCWD, sys::word("/proc/self/ns/pid"), sys::word(target), sizeof target - 1);
  if (sys::failed(length)) return 0;
  target[length] = '\0';
  const char* at = std::strchr(target, '[');
  std::uint64_t number = 0;
  for (at = at == nullptr ? target + length : at + 1; *at >= '0' && *at <= '9'; ++at) {
    number = 10 * number + static_cast<std::uint64_t>(*at - '0');
  }
  return number;
}

trace::StringRef working_directory(Spool& spool) {
  char* target = spool.path_buffer();
  const long length = sys::call(SYS_getcwd, sys::word(target), kPathMax);
  return text(spool, target, sys::failed(length) || length == 0 ? 0 : static_cast<std::uint64_t>(length) - 1);
}

trace::StringRef whole_file(Spool& spool, const char* path, std::uint64_t most) {
  const long fd = sys::open(path, O_RDONLY | O_CLOEXEC);
  if (sys::failed(fd)) return {0, 0};
  std::uint64_t length = 0;
  for (std::uint64_t step = 1 << 10; length < most; step = 16 << 10) {  // most are short
    char* space = spool.begin_string(length + step);
    if (space == nullptr) break;
    const long got = sys::read(fd, space + length, step);
    if (sys::failed(got) || got == 0) break;
    length += static_cast<std::uint64_t>(got);
  }
  sys::close(fd);
  return spool.end_string(length);
}

trace::StringRef text(Spool& spool, const char* value) { return text(spool, value, std::strlen(value)); }

}  // namespace

std::uint32_t read_text(const char* path, char* to, std::uint32_t bytes) {
  const long fd = sys::open(path, O_RDONLY | O_CLOEXEC);
  const long got = sys::failed(fd) ? -1 : sys::read(fd, to, bytes - 1);
  if (!sys::failed(fd)) sys::close(fd);
  const std::uint32_t length = sys::failed(got) ? 0 : static_cast<std::uint32_t>(got);
  to[length] = '\0';
  return length;
}

// The second field is a name in brackets, which may hold anything.
std::uint64_t start_ticks() {
  char text[1024];
  read_text("/proc/self/stat", text, sizeof(text));
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) {
    at = std::strchr(at + 1, ' ');
  }
  std::uint64_t ticks = 0;
  if (at == nullptr) return 0;
  for (++at; *at >= '0' && *at <= '9'; ++at) ticks = 10 * ticks + static_cast<std::uint64_t>(*at - '0');
  return ticks;
}

std::uint32_t peak_resident_kib() {
  char text[4096];
  if (read_text("/proc/self/status", text, sizeof(text)) == 0) return 0;
  constexpr char kName[] = "\nVmHWM:";  // "VmHWM:	    1234 kB"
  const char* at = std::strstr(text, kName);
  if (at == nullptr) return 0;
  at += sizeof kName - 1;
  while (*at == ' ' || *at == '\t') ++at;
  std::uint32_t kib = 0;
  for (; *at >= '0' && *at <= '9'; ++at) kib = 10 * kib + static_cast<std::uint32_t>(*at - '0');
  return kib;
}

void write_title(trace::SpoolHeader& header) {
  const long fd = sys::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (sys::failed(fd)) return;
  const long length = sys::read(fd, header.title, trace::kTitleBytes - 1);
  sys::close(fd);
  header.title[sys::failed(length) ? 0 : length] = '\0';
}

// A parent in another namespace has the number 0 here. The first access to a process's files in /proc takes 20 us.
void write_process_ids(trace::SpoolHeader& header, const trace::SpoolHeader* parent) {
  header.pid = static_cast<std::uint32_t>(sys::getpid());
  header.parent_pid = static_cast<std::uint32_t>(sys::call(SYS_getppid));
  const bool same_namespace = parent != nullptr && parent->pid == header.parent_pid && header.parent_pid != 0;
  header.pid_namespace = same_namespace ? parent->pid_namespace : pid_namespace();
  header.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  header.start_monotonic_ns = monotonic_ns();
  header.start_stamp = stamp();
}

void write_process_facts(Spool& spool, KeepEnvironment keep) {
  trace::SpoolHeader& header = *spool.header();
  header.page_bytes = 4096;
  header.allocator = allocator.kind;
  header.allocator_path = text(spool, allocator.path);
  header.exe = link_target(spool, "/proc/self/exe");
  header.cwd = working_directory(spool);
  // A watch file has little room for strings.
  const std::uint64_t most = spool.mode() == SpoolMode::Watched ? 64 << 10 : 2 << 20;
  header.command_line = whole_file(spool, "/proc/self/cmdline", most);
  if (keep == KeepEnvironment::Yes) header.environment = whole_file(spool, "/proc/self/environ", most);
  utsname names;
  if (!sys::failed(sys::call(SYS_uname, sys::word(&names)))) {
    header.kernel = text(spool, names.release);
    header.host = text(spool, names.nodename);
  }
  write_process_ids(header, nullptr);
}

}  // namespace tare::recorder
