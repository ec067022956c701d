// Each substitution of a name can contain the previous one twice: 500 bytes describe more text than any memory can
// contain. libstdc++'s __cxa_demangle builds the whole text. Its other entry passes on pieces and has no block on the
// heap: longjmp can end it at any point.
#include "core/demangle/bounded_cxx_demangler.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <string_view>

#ifdef TARE_HAVE_DEMANGLE_CALLBACK
extern "C" int __gcclibcxx_demangle_callback(const char* name,
                                             void (*take)(const char* piece, std::size_t bytes, void*), void* state);
#else
#include <cxxabi.h>
#endif

namespace tare::core {
namespace {

// Names with fewer references are demangled within 2^20 steps.
constexpr int kFewReferences = 20;

// Counts back-references: S_, S0_, SA_, T_, T0_. Counts more than there are, as names have such letters too.
int references(std::string_view name) {
  int count = 0;
  for (std::size_t at = 0; at + 1 < name.size(); ++at) {
    if (name[at] != 'S' && name[at] != 'T') continue;
    std::size_t end = at + 1;
    while (end < name.size() && (std::isdigit(static_cast<unsigned char>(name[end])) != 0 ||
                                 std::isupper(static_cast<unsigned char>(name[end])) != 0)) {
      ++end;
    }
    if (end < name.size() && name[end] == '_') ++count;
  }
  return count;
}

#ifdef TARE_HAVE_DEMANGLE_CALLBACK

struct Attempt {
  char* text;
  bool is_timed;
  std::size_t bytes = 0;
  sigjmp_buf give_up = {};
};

void take_piece(const char* piece, std::size_t bytes, void* state) {
  auto* const attempt = static_cast<Attempt*>(state);
  if (bytes > kMostReadableBytes - attempt->bytes) siglongjmp(attempt->give_up, 1);
  std::copy_n(piece, bytes, attempt->text + attempt->bytes);
  attempt->bytes += bytes;
}

// Looking for parameter packs prints nothing, but doubles as well: such names get a tenth of a second, all of a process
// together a second. A timer's signal ends them, which finds no lock held and no memory taken.
constexpr std::int64_t kMostNs = 100'000'000;
constexpr int kMostExpired = 10;
std::atomic<int> expired = 0;
thread_local Attempt* timed = nullptr;

void on_expired(int /*signal*/) {
  if (Attempt* const attempt = timed) {
    timed = nullptr;
    siglongjmp(attempt->give_up, 2);
  }
}

class Deadline {
 public:
  Deadline() {
    struct sigaction action = {};
    action.sa_handler = on_expired;
    if (::sigaction(signal_, &action, &before_) != 0) return;
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, signal_);
    ::pthread_sigmask(SIG_UNBLOCK, &mine, &mask_before_);
    struct sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_;
    event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    made_ = ::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0;
    const struct itimerspec when = {{0, 0}, {0, kMostNs}};
    if (made_) ::timer_settime(timer_, 0, &when, nullptr);
  }
  // A signal that is under way finds nothing to end. The handler's own mask ends here too.
  ~Deadline() {
    if (made_) ::timer_delete(timer_);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    ::sigaction(signal_, &before_, nullptr);
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  bool made() const { return made_; }

 private:
  const int signal_ = SIGRTMAX - 2;
  struct sigaction before_ = {};
  sigset_t mask_before_ = {};
  timer_t timer_ = {};
  bool made_ = false;
};

// No object with a destructor may lie between the setjmp and the demangler.
bool attempt_within_bounds(const char* name, Attempt& attempt) {
  const int gave_up = sigsetjmp(attempt.give_up, 0);
  if (gave_up == 2) ++expired;
  if (gave_up != 0) {
    timed = nullptr;
    return false;
  }
  if (attempt.is_timed) timed = &attempt;
  const int status = __gcclibcxx_demangle_callback(name, take_piece, &attempt);
  timed = nullptr;
  return status == 0;
}

bool attempt_in_time(const char* name, Attempt& attempt) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (expired >= kMostExpired) return false;
  const Deadline deadline;
  return deadline.made() && attempt_within_bounds(name, attempt);
}

#endif

}  // namespace

std::optional<std::string> demangle_cxx(const std::string& name) {
#ifdef TARE_HAVE_DEMANGLE_CALLBACK
  const std::unique_ptr<char[]> text = std::make_unique_for_overwrite<char[]>(kMostReadableBytes);
  Attempt attempt{.text = text.get(), .is_timed = references(name) > kFewReferences};
  const bool is_read =
      attempt.is_timed ? attempt_in_time(name.c_str(), attempt) : attempt_within_bounds(name.c_str(), attempt);
  if (!is_read) return std::nullopt;
  return std::string(text.get(), attempt.bytes);
#else
  if (references(name) > kFewReferences) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  return std::string(text.get());
#endif
}

}  // namespace tare::core
