// The locks of a list of call-backs, and which of them runs; without their type.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <thread>

#include "lib/fork/living.h"
#include "lib/fork/mutex.h"

namespace tare::inline TARE_ABI {

struct CallBackLocks : LivingLinks<CallBackLocks> {
  static constexpr std::uint64_t kNone = 0;

  CallBackLocks();
  ~CallBackLocks();
  CallBackLocks(const CallBackLocks&) = delete;
  CallBackLocks& operator=(const CallBackLocks&) = delete;

  bool is_running_here(std::uint64_t id) const TARE_REQUIRES(mutex) {
    return running_id == id && running_thread == std::this_thread::get_id();
  }

  // Waits until the call-back, which runs on another thread, is done.
  void wait_for_end(std::uint64_t id) TARE_REQUIRES(mutex);

  // In a forked child: ends the pass of a thread that doesn't exist there, so that no thread waits.
  void restart_in_child() TARE_REQUIRES(mutex);

  Mutex pass;   // held by the thread that makes a pass
  Mutex mutex;  // for the members below and the list; never held while a call-back runs
  std::condition_variable call_ended;
  std::uint64_t running_id TARE_GUARDED_BY(mutex) = kNone;
  std::thread::id running_thread TARE_GUARDED_BY(mutex);
};

}  // namespace tare::inline TARE_ABI
