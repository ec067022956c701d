// The handler of SIGBUS puts a page of zeros in the place of the missing one: see guarded_mapping.h.
#include "trace/base/guarded_mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

namespace tare::trace {

// Ranges are reused and never freed: a signal handler may be reading any of them.
struct GuardedMapping::Range {
  std::atomic<std::uintptr_t> begin{0};  // 0: of no mapping
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> is_cut{false};
  Range* next = nullptr;
};

namespace {

std::atomic<GuardedMapping::Range*> ranges{nullptr};
std::mutex change;  // held for changes of the list; the handler never locks it
std::uintptr_t page_bytes = 4096;
struct sigaction action_before = {};

GuardedMapping::Range* range_around(std::uintptr_t address) {
  for (GuardedMapping::Range* range = ranges.load(std::memory_order_acquire); range != nullptr; range = range->next) {
    const std::uintptr_t begin = range->begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address < range->end.load(std::memory_order_acquire)) return range;
  }
  return nullptr;
}

void on_sigbus(int signal, siginfo_t* info, void* /*context*/) {
  const int saved_errno = errno;
  const bool is_fault = info->si_code > 0;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  GuardedMapping::Range* const range = is_fault ? range_around(address) : nullptr;
  void* const page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
  if (range != nullptr &&
      ::mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
    range->is_cut.store(true, std::memory_order_release);
  } else {
    // Not ours: as it would have been. A fault comes again when this returns.
    ::sigaction(SIGBUS, &action_before, nullptr);
    if (!is_fault) ::raise(signal);
  }
  errno = saved_errno;
}

void guard() {
  static const bool done = [] {
    page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &action_before) == 0;
  }();
  static_cast<void>(done);
}

GuardedMapping::Range* register_range(std::uintptr_t begin, std::size_t bytes) {
  const std::lock_guard lock(change);
  guard();
  GuardedMapping::Range* range = ranges.load(std::memory_order_relaxed);
  while (range != nullptr && range->begin.load(std::memory_order_relaxed) != 0) range = range->next;
  const bool is_new = range == nullptr;
  if (is_new) range = new GuardedMapping::Range;
  range->is_cut.store(false, std::memory_order_relaxed);
  range->end.store(begin + bytes, std::memory_order_release);
  range->begin.store(begin, std::memory_order_release);
  if (is_new) {
    range->next = ranges.load(std::memory_order_relaxed);
    ranges.store(range, std::memory_order_release);
  }
  return range;
}

}  // namespace

bool sigbus_was_ignored() {
  const std::lock_guard lock(change);
  guard();
  return (action_before.sa_flags & SA_SIGINFO) == 0 && action_before.sa_handler == SIG_IGN;
}

GuardedMapping::GuardedMapping(std::size_t bytes, int protection, int flags, int fd, std::uint64_t offset) {
  void* const mapping = ::mmap(nullptr, bytes, protection, flags, fd, static_cast<off_t>(offset));
  if (mapping == MAP_FAILED) return;
  data_ = mapping;
  bytes_ = bytes;
  range_ = register_range(reinterpret_cast<std::uintptr_t>(mapping), bytes);
}

GuardedMapping::GuardedMapping(GuardedMapping&& other) noexcept { *this = std::move(other); }

GuardedMapping& GuardedMapping::operator=(GuardedMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(range_, other.range_);
  return *this;
}

GuardedMapping::~GuardedMapping() {
  if (data_ == nullptr) return;
  // The range first: the address may be another's as soon as it is free.
  range_->begin.store(0, std::memory_order_release);
  ::munmap(data_, bytes_);
}

bool GuardedMapping::is_cut() const { return range_ != nullptr && range_->is_cut.load(std::memory_order_acquire); }

}  // namespace tare::trace
