// Keeps the threads within kWindowSteps of each other's steps, and stops all of them at a chosen step until it was
// measured.
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "allocator_replay/perform/script_file.h"

namespace tare::perform {

using core::kWindowSteps;

class Gate {
 public:
  static constexpr std::uint64_t kEnded = ~std::uint64_t{0};

  explicit Gate(const ScriptFile& script)
      : thread_count_(script.header().thread_count),
        next_(static_cast<std::atomic<std::uint64_t>*>(own_memory(thread_count_ * sizeof(std::uint64_t)))),
        held_at_(script.header().peak_order) {
    for (std::uint64_t i = 0; i < thread_count_; ++i)
      next_[i] = script.thread(i).step_count == 0 ? kEnded : script.thread(i).first_order;
  }

  // The least step that isn't taken yet; kEnded: all are.
  std::uint64_t floor() const {
    std::uint64_t least = kEnded;
    for (std::uint64_t i = 0; i < thread_count_; ++i) {
      const std::uint64_t next = next_[i].load(std::memory_order_acquire);
      if (next < least) least = next;
    }
    return least;
  }

  // Before the step of this order all threads stop, until release().
  std::uint64_t held_at() const { return held_at_.load(std::memory_order_acquire); }
  void release() { held_at_.store(kEnded, std::memory_order_release); }

  // Thread i is about to take the step `order`: waits for its turn, and gives the order that is the next to wait for.
  std::uint64_t pass(std::uint64_t i, std::uint64_t order) {
    next_[i].store(order, std::memory_order_release);
    for (int tries = 0;; ++tries) {
      const std::uint64_t window_end = floor() + kWindowSteps;
      const std::uint64_t held = held_at();
      const std::uint64_t limit = window_end < held ? window_end : held;
      if (order < limit) return limit;
      rest(tries);
    }
  }
  void say(std::uint64_t i, std::uint64_t order) { next_[i].store(order, std::memory_order_release); }
  void end(std::uint64_t i) { next_[i].store(kEnded, std::memory_order_release); }

  // Waiting for another thread: its processor first, then time.
  static void rest(int tries) {
    if (tries < 16) {
      sched_yield();
    } else {
      const timespec some{0, 50'000};
      nanosleep(&some, nullptr);
    }
  }

 private:
  std::uint64_t thread_count_;
  std::atomic<std::uint64_t>* next_;  // by thread
  std::atomic<std::uint64_t> held_at_;
};

}  // namespace tare::perform
