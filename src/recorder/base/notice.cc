// Links in the launcher's folder and lines on standard error.
#include "recorder/base/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "recorder/base/stamp.h"
#include "recorder/base/syscall.h"
#include "recorder/base/text.h"
#include "trace/spool/spool_layout.h"

namespace tare::recorder {

namespace {

struct FileId {
  std::uint64_t device;
  std::uint64_t inode;
};

FileId standard_error{};  // inode 0: there was none

FileId file_id(int fd) {
  struct stat status = {};
  if (sys::failed(sys::call(SYS_fstat, fd, sys::word(&status)))) return {};
  return {status.st_dev, status.st_ino};
}

}  // namespace

void remember_standard_error() { standard_error = file_id(2); }

void say(char* text, std::uint32_t length) {
  const FileId now = file_id(2);
  if (now.inode == 0 || now.inode != standard_error.inode || now.device != standard_error.device) return;
  text[length] = '\n';
  sys::write(2, text, length + 1);
}

bool Notice::leave(const char* directory, const char* program, const char* reason) {
  char buffer[1024];  // the stack may be a signal handler's
  Text text(buffer, sizeof(buffer));
  text.add(program).add("\n").add(reason);
  for (std::uint64_t number = monotonic_ns();; ++number) {
    Text path(path_, sizeof(path_));
    path.add(directory).add("/").add_number(static_cast<std::uint64_t>(sys::getpid())).add(".").add_number(number);
    path.add(trace::kNoticeSuffix);
    const long result =
        path.overflowed() ? -ENAMETOOLONG : sys::call(SYS_symlinkat, sys::word(buffer), AT_FDCWD, sys::word(path_));
    if (result == -EEXIST) continue;
    if (sys::failed(result)) path_[0] = '\0';
    return !sys::failed(result);
  }
}

void Notice::take_back() {
  if (path_[0] != '\0') sys::call(SYS_unlinkat, AT_FDCWD, sys::word(path_), 0);
  path_[0] = '\0';
}

}  // namespace tare::recorder
