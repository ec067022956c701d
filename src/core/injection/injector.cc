// The search for a thread, and calls of the loader: see injector.h.
#include "core/injection/injector.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "core/injection/code_gap.h"
#include "core/injection/filter_check.h"
#include "core/injection/safe_point.h"
#include "core/injection/target_check.h"
#include "trace/base/clock_ns.h"
#include "trace/base/process_files.h"

namespace tare::core {
namespace {

// The search ends when both are over: on a busy machine, a thread may run for a few instructions a second.
constexpr std::uint64_t kSearchNs = 5'000'000'000;
constexpr int kSearchRounds = 150;  // in which a thread had run or waited since the round before
constexpr std::uint64_t kLongestSearchNs = 30'000'000'000;
constexpr std::uint64_t kLongestStartNs = 500'000'000;  // of a program without a loader so far
constexpr long kFirstPauseNs = 200'000;
constexpr long kLongestPauseNs = 20'000'000;
constexpr std::size_t kMostThreads = 64;            // looked at in a round: each is stopped for some 100 microseconds
constexpr std::uint64_t kOldLoaderCall = 1u << 31;  // a flag of __libc_dlopen_mode

Error not_loaded(pid_t pid, const std::string& why) {
  return {ErrorKind::CannotRecord, "the recorder can't be loaded into process " + std::to_string(pid) + ": " + why};
}

// The first one is the main thread.
std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads = trace::thread_ids(pid);
  std::sort(threads.begin(), threads.end());
  if (threads.size() > kMostThreads) threads.resize(kMostThreads);
  return threads;
}

// Rounds of stopping one thread after the other, until one is at a safe point.
class Search {
 public:
  explicit Search(pid_t pid) : pid_(pid) {}

  // `error`: why no thread can be traced; 0 otherwise.
  std::optional<RemoteThread> find_thread(const LoadedObjects& objects, int& error);
  bool is_over() const {
    const std::uint64_t past_ns = trace::monotonic_ns() - begin_ns_;
    return past_ns > kLongestSearchNs || (past_ns > kSearchNs && rounds_ >= kSearchRounds);
  }
  std::uint64_t seconds() const { return (trace::monotonic_ns() - begin_ns_) / 1'000'000'000; }

 private:
  // Not a runnable thread that has had no processor since its last stop: it is where it was.
  bool is_news(pid_t tid, char state, const user_regs_struct& registers) {
    user_regs_struct& last = last_[tid];
    const bool has_moved = std::memcmp(&last, &registers, sizeof(last)) != 0;
    last = registers;
    return has_moved || state != 'R';
  }

  pid_t pid_;
  std::uint64_t begin_ns_ = trace::monotonic_ns();
  int rounds_ = 0;
  std::map<pid_t, user_regs_struct> last_;
};

std::optional<RemoteThread> Search::find_thread(const LoadedObjects& objects, int& error) {
  const SafePoint safe_point(pid_, objects);
  bool has_news = false;
  bool was_stopped = false;
  for (const pid_t tid : threads_of(pid_)) {
    const std::optional<trace::ProcessStat> stat = trace::thread_stat(pid_, tid);
    // It waits in the kernel where nothing stops it, or it has ended.
    if (!stat || stat->state == 'D' || stat->state == 'Z' || stat->state == 'X') continue;
    int refused = 0;
    std::optional<RemoteThread> thread = RemoteThread::stop(pid_, tid, refused);
    if (refused != 0 && refused != ESRCH) error = refused;
    if (!thread) continue;
    was_stopped = true;
    if (safe_point.is_at(thread->registers())) {
      error = 0;
      return thread;
    }
    has_news = is_news(tid, stat->state, thread->registers()) || has_news;
  }
  rounds_ += has_news || !was_stopped ? 1 : 0;
  return std::nullopt;
}

// Another thread of the process may have put another file in its place, which a user without rights couldn't open for
// writing.
bool is_new_memory_file(int fd) {
  struct stat status{};
  return fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 && status.st_size == 0;
}

}  // namespace

Result<Injector> Injector::begin(pid_t pid) {
  const Result<Filters> filters = check_target(pid);
  if (!filters) return filters.error();
  const std::uint64_t begin_ns = trace::monotonic_ns();
  Search search(pid);
  int refused = 0;
  bool has_loader = false;
  for (timespec wait{0, kFirstPauseNs}; !search.is_over();
       wait.tv_nsec = std::min(wait.tv_nsec * 3 / 2, kLongestPauseNs)) {
    std::optional<LoadedObjects> objects = LoadedObjects::of(pid);
    if (!objects) {
      if (!trace::read_process_file(pid, "auxv")) return trace_refused(pid, errno);
      if (has_loader) break;
      ::nanosleep(&wait, nullptr);
      if (trace::monotonic_ns() - begin_ns > kLongestStartNs) return no_loader(pid);
      continue;
    }
    has_loader = true;
    if (Status libc = check_libc(pid, *objects); !libc) return libc.error();
    const std::optional<std::uint64_t> gap = find_code_gap(pid, *objects);
    if (!gap) return not_loaded(pid, "the pages of its code have no room for a call");
    std::optional<RemoteThread> thread = search.find_thread(*objects, refused);
    if (refused != 0) return trace_refused(pid, refused);
    if (!thread) {
      ::nanosleep(&wait, nullptr);
      continue;
    }
    if (*filters == Filters::Some) {
      if (Status checked = check_filters(pid, *thread); !checked) return checked.error();
    }
    Injector injector(pid, std::move(*thread));
    if (Status borrowed = injector.thread_.borrow(*gap, *filters == Filters::Some); !borrowed) return borrowed.error();
    injector.has_filters_ = *filters == Filters::Some;
    injector.dlopen_ = objects->address_of("dlopen");
    injector.dlerror_ = objects->address_of("dlerror");
    injector.syscall_ = objects->address_of("syscall");
    if (injector.dlopen_ == 0) {
      injector.dlopen_ = objects->address_of("__libc_dlopen_mode");
      injector.dlopen_flags_ = kOldLoaderCall;
      injector.dlerror_ = 0;
    }
    if (Status kept = injector.remember_errno(objects->address_of("__errno_location")); !kept) return kept.error();
    return injector;
  }
  if (!trace::read_process_file(pid, "auxv")) return not_loaded(pid, "it has ended");
  return not_loaded(pid, "for " + std::to_string(search.seconds()) +
                             " s, its threads were inside the allocator or the loader whenever they were stopped; "
                             "try again");
}

Status Injector::remember_errno(std::uint64_t location_function) {
  if (location_function == 0) return not_loaded(pid_, "its C library has no errno");
  const Result<std::uint64_t> at = thread_.call(location_function);
  if (!at) return at.error();
  int value = 0;
  errno_at_ = *at;
  return read_remote(pid_, *at, &value, sizeof(value)) ? thread_.keep_errno(*at, value) : ok();
}

std::string Injector::loader_error() {
  if (dlerror_ == 0) return "its loader refuses it";
  const Result<std::uint64_t> text_at = thread_.call(dlerror_);
  std::string text;
  for (char byte;
       text_at && *text_at != 0 && text.size() < 500 && read_remote(pid_, *text_at + text.size(), &byte, 1);) {
    if (byte == '\0' || byte == '\n') break;
    text.push_back(byte);
  }
  return text.empty() ? "its loader refuses it" : text;
}

Result<std::uint64_t> Injector::load(const std::string& path) {
  std::uint64_t name = 0;
  if (!path.empty()) {
    const Result<std::uint64_t> put = thread_.put(path.c_str(), path.size() + 1);
    if (!put) return put.error();
    name = *put;
  }
  const Result<std::uint64_t> handle = thread_.call(dlopen_, name, RTLD_NOW | RTLD_GLOBAL | dlopen_flags_);
  if (!handle) return handle.error();
  if (*handle == 0) return not_loaded(pid_, loader_error());
  return *handle;
}

Result<std::uint64_t> Injector::load_copy(const std::string& file, const std::string& name) {
  constexpr std::uint64_t kCloseOnExec = 1;  // MFD_CLOEXEC
  const Result<std::uint64_t> label = thread_.put(name.c_str(), name.size() + 1);
  if (!label) return label.error();
  if (syscall_ == 0) return not_loaded(pid_, "its C library has no syscall()");
  const Result<std::uint64_t> created = thread_.call(syscall_, SYS_memfd_create, *label, kCloseOnExec);
  if (!created) return created.error();
  const auto remote = static_cast<std::int64_t>(*created);
  if (remote < 0) {
    const int why = read_remote_value<int>(pid_, errno_at_).value_or(EINVAL);
    return not_loaded(pid_, std::string("memfd_create: ") + std::strerror(why));
  }
  const int from = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string target = "/proc/" + std::to_string(pid_) + "/fd/" + std::to_string(remote);
  const int to = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
  struct stat status{};
  bool is_copied = from >= 0 && is_new_memory_file(to) && ::fstat(from, &status) == 0;
  for (off_t done = 0; is_copied && done < status.st_size;) {
    is_copied = ::sendfile(to, from, &done, static_cast<std::size_t>(status.st_size - done)) > 0;
  }
  const int error = errno;
  if (from >= 0) ::close(from);
  if (to >= 0) ::close(to);
  Result<std::uint64_t> handle = is_copied ? load("/proc/self/fd/" + std::to_string(remote))
                                           : Result<std::uint64_t>(not_loaded(pid_, std::strerror(error)));
  (void)thread_.call(syscall_, SYS_close, *created);
  return handle;
}

Status Injector::announce_filters(std::uint64_t function) {
  if (!has_filters_) return ok();
  for (std::size_t number = 0;; ++number) {
    std::vector<sock_filter> program;
    if (!thread_.read_filter(number, program)) return not_loaded(pid_, "its seccomp filters can't be read any more");
    if (program.empty()) return ok();
    const Result<std::uint64_t> at = thread_.put(program.data(), program.size() * sizeof(sock_filter));
    if (!at) return at.error();
    const struct {
      std::uint64_t length, address;
    } filter{program.size(), *at};
    const Result<std::uint64_t> parameter = thread_.put_behind(&filter, sizeof(filter));
    if (!parameter) return parameter.error();
    const Result<std::uint64_t> admitted = thread_.call(function, *parameter);
    if (!admitted) return admitted.error();
    if ((*admitted & 0xff) == 0) return not_loaded(pid_, "its recorder is another version's, with other system calls");
  }
}

}  // namespace tare::core
