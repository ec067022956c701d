// A stretch of a thread's calls that isn't recorded: inside another library's operator new, or our own calls of the
// loader.
#pragma once

#include "recorder/events/record.h"

namespace tare::recorder {

// An exception that passes through leaves it behind; the next hook notices that the frame is gone.
class Suppression {
 public:
  explicit Suppression(const StartState& start) {
    if (!is_ready(this_thread)) {
      if (settle(start) != Entry::Ready) return;
      sampling_ = recorder.sampling();
    }
    thread_ = this_thread;
    put_frame(start);
    thread_->gate.store(Gate::Suppressed, std::memory_order_relaxed);
    put_frame(start);  // a handler may have left its own
    if (TARE_LIKELY(!sampling_)) return;
    countdown_ = Sampler::stop_all(thread_->sampling);
    frees_ = frees_seen;
  }
  ~Suppression() {
    if (thread_ == nullptr) return;
    if (TARE_UNLIKELY(sampling_)) {
      Sampler::give_back(thread_->sampling, countdown_);
      frees_seen = frees_;
    }
    thread_->gate.store(Gate::Ready, std::memory_order_relaxed);
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
  bool sampling_ = false;
  std::int64_t countdown_ = 0;  // what these calls take isn't the program's
  std::uint16_t frees_ = 0;
};

}  // namespace tare::recorder
