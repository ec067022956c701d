// tare/memory_pressure.h: gives memory back when there is little left. Memory that a program could do without (caches,
// parsed forms, free lists) gets a call-back; the program or the kernel triggers it.
//
//   tare::PressureHandle handle = tare::PressureRegistry::process().add("fonts", [&](tare::PressureLevel level) {
//     return level == tare::PressureLevel::Critical ? cache.clear() : cache.drop_unused();   // bytes freed
//   });
//
//   registry.relieve(tare::PressureLevel::Moderate);                     // the program's own decision, or
//   tare::PressureMonitor monitor;                                       // a thread that waits for the kernel's
//   tare::PressureError error = monitor.start(registry, {});
//   if (error != tare::PressureError::None) std::puts(tare::describe(error));
//
// The kernel's word is PSI (pressure stall information): the share of time in which tasks waited for memory. After
// Firefox's memory-pressure notifications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <pthread.h>
#include <sys/types.h>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

enum class PressureLevel : std::uint8_t {
  Moderate,  // drop data that is cheap to make again
  Critical,  // drop all data that can be dropped
};

// Takes a call-back off the books when it dies. Movable; a default one holds nothing. May outlive its registry.
class TARE_API PressureHandle {
 public:
  PressureHandle() noexcept = default;
  PressureHandle(PressureHandle&& other) noexcept;
  PressureHandle& operator=(PressureHandle&& other) noexcept;
  ~PressureHandle() { release(); }

  // When this returns the call-back isn't running and won't run again. It waits for one that runs: don't hold a lock
  // that the call-back takes. From inside the call-back itself it doesn't wait.
  void release() noexcept;
  explicit operator bool() const noexcept { return id_ != 0; }

 private:
  friend class PressureRegistry;
  struct Books;
  PressureHandle(std::shared_ptr<Books> books, std::uint64_t id) noexcept : books_(std::move(books)), id_(id) {}

  std::shared_ptr<Books> books_;
  std::uint64_t id_ = 0;
};

// The call-backs that release memory. Every function may be called from any thread.
class TARE_API PressureRegistry {
 public:
  // Frees spare memory, and returns the number of bytes.
  using CallBack = std::function<std::size_t(PressureLevel)>;

  PressureRegistry();
  ~PressureRegistry();  // drops the call-backs; none may be running
  PressureRegistry(const PressureRegistry&) = delete;
  PressureRegistry& operator=(const PressureRegistry&) = delete;

  // The process's own, made at its first use and never destroyed.
  static PressureRegistry& process();

  // `name` is for debuggers. Call-backs may add and release call-backs, but not relieve.
  [[nodiscard]] PressureHandle add(std::string name, CallBack call_back);

  // Calls every call-back, in the order of their registration, and returns the sum of their results. One at a time: a
  // second thread waits for the first. The freed memory belongs to the allocator: give_back_heap() releases it to the
  // kernel.
  std::size_t relieve(PressureLevel level);

 private:
  std::shared_ptr<PressureHandle::Books> books_;
};

// Makes the allocator in use return free pages to the kernel: glibc's malloc_trim, jemalloc's purge of all arenas.
// False: the allocator has no such function.
TARE_API bool give_back_heap();

enum class PressureError : std::uint8_t {
  None,
  NoPsi,         // the kernel has none (before 4.20, or built or booted without), or no such file
  NotPermitted,  // the file may not be written by this user
  BadTrigger,    // the kernel refuses stall or window
  NoMemory,      // no thread or descriptor could be made
  Running,       // start() was called before
};
// One sentence in English, static storage.
TARE_API const char* describe(PressureError error) noexcept;

// The kernel's trigger: `stall_us` of waiting within `window_us`.
struct PressureTrigger {
  // Without CAP_SYS_RESOURCE the kernel (6.4 on) takes only windows that are multiples of 2 s; at most 10 s.
  std::uint32_t window_us = 2'000'000;
  std::uint32_t moderate_stall_us = 100'000;  // some task waits for memory 5 % of the time
  std::uint32_t critical_stall_us = 200'000;  // all tasks do at once, 10 %. 0: no such trigger
  // The system's, or a control group's memory.pressure.
  std::string path = "/proc/pressure/memory";
};

// A thread that sleeps until the kernel triggers it, then calls relieve(). At most once a window. A forked child has no
// such thread: its copy of the monitor may be stopped, which leaves the parent's alone, and started.
class TARE_API PressureMonitor {
 public:
  PressureMonitor() noexcept = default;
  ~PressureMonitor() { stop(); }
  PressureMonitor(const PressureMonitor&) = delete;
  PressureMonitor& operator=(const PressureMonitor&) = delete;

  // The registry must outlive the monitor. Where this gives an error no thread runs; relieve() still works.
  PressureError start(PressureRegistry& registry, const PressureTrigger& trigger);
  // Waits for a call-back that runs. Not from inside a call-back.
  void stop() noexcept;

 private:
  static void* run(void* monitor);
  bool has_thread() const noexcept;

  PressureRegistry* registry_ = nullptr;  // null: no thread runs
  pid_t process_ = 0;                     // the process that started the thread
  int moderate_fd_ = -1;
  int critical_fd_ = -1;
  int stop_fd_ = -1;
  pthread_t thread_{};
};

}  // namespace tare::inline TARE_ABI
