// The locks of a list of call-backs, and which of them runs; without their type.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "lib/fork/living.h"

namespace tare {

struct CallBackLocks : LivingLinks<CallBackLocks> {
  static constexpr std::uint64_t kNone = 0;

  CallBackLocks();
  ~CallBackLocks();
  CallBackLocks(const CallBackLocks&) = delete;
  CallBackLocks& operator=(const CallBackLocks&) = delete;

  bool is_running_here(std::uint64_t id) const {
    return running_id == id && running_thread == std::this_thread::get_id();
  }

  // In a forked child: ends the pass of a thread that doesn't exist there, so that no thread waits.
  void restart_in_child();

  std::mutex pass;   // held by the thread that makes a pass
  std::mutex mutex;  // for the members below and the list; never held while a call-back runs
  std::condition_variable call_ended;
  std::uint64_t running_id = kNone;
  std::thread::id running_thread;
};

}  // namespace tare
