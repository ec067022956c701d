// Call-backs in the order of their making, which may go at any time: also while they, or others, run.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace tare {

// Every function may be called from any thread, and from call-backs where it doesn't say otherwise.
template <typename CallBack>
class CallBackList {
 public:
  std::uint64_t add(std::string name, CallBack call_back) {
    const std::lock_guard held(mutex_);
    const std::uint64_t id = ++last_id_;
    entries_.push_back({id, std::move(name), std::move(call_back)});
    return id;
  }

  // When it returns the call-back isn't running, unless it is what calls this, and won't run again.
  void remove(std::uint64_t id) noexcept {
    Entries gone;  // functions may hold handles: destroyed without the lock
    std::unique_lock held(mutex_);
    const bool is_inside = running_id_ == id && running_thread_ == std::this_thread::get_id();
    if (!is_inside) call_ended_.wait(held, [this, id] { return running_id_ != id; });
    const auto entry =
        std::find_if(entries_.begin(), entries_.end(), [id](const Entry& each) { return each.id == id; });
    if (entry == entries_.end()) return;
    if (is_inside) {
      entry->id = kRemoved;  // its function is on the stack: for_each() takes it out
    } else {
      gone.splice(gone.end(), entries_, entry);
    }
    held.unlock();
  }

  void clear() {
    Entries gone;
    const std::lock_guard held(mutex_);
    gone.swap(entries_);
  }

  // Calls visit(name, call_back) for each. One pass at a time, others wait: not from a call-back.
  template <typename Visit>
  void for_each(Visit&& visit) {
    const std::lock_guard one_at_a_time(pass_);
    Entries gone;
    std::unique_lock held(mutex_);
    running_thread_ = std::this_thread::get_id();
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      running_id_ = entry->id;
      held.unlock();
      visit(entry->name, entry->call_back);
      held.lock();
      running_id_ = kNone;
      const auto done = entry++;
      if (done->id == kRemoved) gone.splice(gone.end(), entries_, done);
      call_ended_.notify_all();
    }
    held.unlock();
  }

 private:
  static constexpr std::uint64_t kNone = 0;
  static constexpr std::uint64_t kRemoved = 0;
  struct Entry {
    std::uint64_t id;
    std::string name;
    CallBack call_back;
  };
  using Entries = std::list<Entry>;  // entries keep their places while others come and go

  std::mutex pass_;   // held by the thread that makes a pass
  std::mutex mutex_;  // for what follows; never held while a call-back runs
  std::condition_variable call_ended_;
  Entries entries_;
  std::uint64_t last_id_ = 0;
  std::uint64_t running_id_ = kNone;
  std::thread::id running_thread_;
};

}  // namespace tare
