#include "lib/gc/marking/marking_thread.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>

#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/pauses.h"

namespace tare::inline TARE_ABI::gc {

namespace {

// Waits on a condition of what locks().marking guards.
void wait(pthread_cond_t& condition) noexcept TARE_REQUIRES(locks().marking) {
  pthread_cond_wait(&condition, locks().marking.native().native_handle());
}

}  // namespace

// Never destroyed: the thread may outlive main().
class MarkingThread {
 public:
  constexpr MarkingThread() noexcept = default;

  void enqueue(ConcurrentMarking& marking) noexcept TARE_REQUIRES(locks().marking) {
    marking.state_ = ConcurrentMarking::State::Queued;
    marking.next_ = nullptr;
    ConcurrentMarking** link = &first_;
    while (*link != nullptr) link = &(*link)->next_;
    *link = &marking;
    pthread_cond_signal(&wake_);
  }

  // False if there is none and can be none.
  bool ensure() noexcept TARE_REQUIRES(locks().marking) {
    if (is_there_) return true;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for its own threads
    pthread_t thread{};
    const auto run_it = [](void* self) -> void* {
      static_cast<MarkingThread*>(self)->run();
      return nullptr;
    };
    is_there_ = pthread_create(&thread, nullptr, run_it, this) == 0;
    if (is_there_) pthread_detach(thread);
    is_starting_ = is_there_;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return is_there_;
  }

  void take_from(ConcurrentMarking& marking) noexcept TARE_REQUIRES(locks().marking) {
    marking.is_to_stop_ = true;
    wait_while([&]() TARE_REQUIRES(locks().marking) { return marking.state_ == ConcurrentMarking::State::Working; });
    marking.is_to_stop_ = false;
    if (marking.state_ == ConcurrentMarking::State::Queued) remove(marking);
  }

  void rest() noexcept TARE_REQUIRES(locks().marking) {
    is_resting_ = true;
    wait_while([&]() TARE_REQUIRES(locks().marking) { return is_starting_ || is_working_; });
  }
  void go_on() noexcept TARE_REQUIRES(locks().marking) {
    is_resting_ = false;
    pthread_cond_signal(&wake_);
  }
  // In a child: the waiting threads don't exist.
  void begin_anew() noexcept TARE_REQUIRES(locks().marking) {
    is_there_ = is_starting_ = is_resting_ = false;
    waiters_ = 0;
    is_wanted_.store(false, std::memory_order_relaxed);
    wake_ = put_down_ = PTHREAD_COND_INITIALIZER;
    if (first_ != nullptr) ensure();
  }

 private:
  template <class Condition>
  void wait_while(Condition&& condition) noexcept TARE_REQUIRES(locks().marking) {
    ++waiters_;
    while (condition()) {
      is_wanted_.store(true, std::memory_order_relaxed);
      wait(put_down_);
    }
    if (--waiters_ == 0) is_wanted_.store(false, std::memory_order_relaxed);
  }

  void remove(ConcurrentMarking& marking) noexcept TARE_REQUIRES(locks().marking) {
    ConcurrentMarking** link = &first_;
    while (*link != &marking) link = &(*link)->next_;
    *link = marking.next_;
    marking.state_ = ConcurrentMarking::State::Idle;
  }

  [[noreturn]] void run() noexcept {
    Lock lock(locks().marking);
    is_starting_ = false;
    if (waiters_ != 0) pthread_cond_broadcast(&put_down_);
    for (;;) {
      while (first_ == nullptr || is_resting_) wait(wake_);
      ConcurrentMarking& marking = *first_;
      remove(marking);
      marking.state_ = ConcurrentMarking::State::Working;
      is_working_ = true;
      marking.marker_.add(marking.given_.begin(), marking.given_.size());
      marking.given_.set_size(0);
      marking.taken_.append(marking.stored_.begin(), marking.stored_.size());
      marking.stored_.set_size(0);
      lock.unlock();
      const std::size_t begin_ns = now_ns();
      const bool is_done = marking.mark_taken(is_wanted_) && marking.marker_.drain(begin_ns + kTurnNs, &is_wanted_);
      const std::size_t worked_ns = now_ns() - begin_ns;
      lock.lock();
      marking.worked_ns_ += worked_ns;
      marking.marker_.move_left_to(marking.left_);
      marking.state_ = ConcurrentMarking::State::Idle;
      is_working_ = false;
      const bool is_more = !is_done || !marking.given_.empty() || !marking.stored_.empty();
      if (is_more && !marking.is_to_stop_) enqueue(marking);
      if (waiters_ != 0) pthread_cond_broadcast(&put_down_);
    }
  }

  static constexpr std::size_t kTurnNs = 2'000'000;  // then it's another heap's

  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t put_down_ = PTHREAD_COND_INITIALIZER;
  ConcurrentMarking* first_ TARE_GUARDED_BY(locks().marking) = nullptr;  // of those that wait for their turn
  std::uint32_t waiters_ TARE_GUARDED_BY(locks().marking) = 0;
  std::atomic<bool> is_wanted_{false};  // another thread waits until it puts its work down
  bool is_working_ TARE_GUARDED_BY(locks().marking) = false;
  bool is_there_ TARE_GUARDED_BY(locks().marking) = false;
  bool is_starting_ TARE_GUARDED_BY(locks().marking) =
      false;  // a sanitizer's start-up of a thread holds locks that a forked child would find locked
  bool is_resting_ TARE_GUARDED_BY(locks().marking) = false;
};

TARE_STATE constinit MarkingThread thread;

bool ConcurrentMarking::give(const std::uint32_t* granules, std::size_t count) noexcept {
  const Lock lock(locks().marking);
  if (!thread.ensure()) return false;
  for (std::size_t i = 0; i < count; ++i) given_.push(granules[i]);
  if (state_ == State::Idle && count != 0) thread.enqueue(*this);
  return true;
}

bool ConcurrentMarking::give_stored(const std::uint32_t* granules, std::size_t count) noexcept {
  const Lock lock(locks().marking);
  if (state_ == State::Idle) return false;
  stored_.append(granules, count);
  return true;
}

// About 10 us at a time, so that no thread waits for long.
bool ConcurrentMarking::mark_taken(const std::atomic<bool>& is_to_stop) noexcept {
  constexpr std::size_t kTogether = 2048;
  while (!taken_.empty()) {
    if (is_to_stop.load(std::memory_order_relaxed)) return false;
    const std::size_t count = std::min(kTogether, taken_.size());
    taken_.set_size(taken_.size() - count);
    marker_.mark_around(taken_.end(), count);
  }
  return true;
}

bool ConcurrentMarking::take_left(Rows<std::uint32_t>& left) noexcept {
  const Lock lock(locks().marking);
  for (const std::uint32_t granule : left_) left.push(granule);
  left_.set_size(0);
  return state_ == State::Idle;
}

void ConcurrentMarking::stop() noexcept {
  const Lock lock(locks().marking);
  thread.take_from(*this);
  // Returns waiting references to the marker.
  marker_.add(given_.begin(), given_.size());
  marker_.add(left_.begin(), left_.size());
  marker_.mark_around(stored_.begin(), stored_.size());
  marker_.mark_around(taken_.begin(), taken_.size());
  for (Rows<std::uint32_t>* rows : {&given_, &left_, &stored_, &taken_}) rows->set_size(0);
}

void marking_thread::rest_for_fork() noexcept { thread.rest(); }
void marking_thread::go_on_in_parent() noexcept { thread.go_on(); }
void marking_thread::go_on_in_child() noexcept { thread.begin_anew(); }

}  // namespace tare::inline TARE_ABI::gc
