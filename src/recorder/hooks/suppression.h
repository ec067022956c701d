// A stretch of a thread's calls that isn't recorded: inside another library's operator new, or our own calls of the
// loader.
#pragma once

#include "recorder/events/record.h"

namespace tare::recorder {

// An exception that passes through leaves it behind; the next hook notices that the frame is gone.
class Suppression {
 public:
  explicit Suppression(const StartState& start) {
    if (!is_ready(this_thread) && settle(start) != Entry::Ready) return;
    thread_ = this_thread;
    put_frame(start);
    thread_->gate.store(Gate::Suppressed, std::memory_order_relaxed);
    put_frame(start);  // a handler may have left its own
  }
  ~Suppression() {
    if (thread_ != nullptr) thread_->gate.store(Gate::Ready, std::memory_order_relaxed);
  }
  Suppression(const Suppression&) = delete;
  Suppression& operator=(const Suppression&) = delete;

 private:
  void put_frame(const StartState& start) {
    thread_->outer_sp = start.sp;
    thread_->outer_return = start.return_address;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  Thread* thread_ = nullptr;
};

}  // namespace tare::recorder
