// Call-backs in the order of their making, which may go at any time: also while they, or others, run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "lib/reporters/call_back_locks.h"

namespace tare::inline TARE_ABI {

// Every function may be called from any thread, and from call-backs unless its comment excludes it.
template <typename CallBack>
class CallBackList {
 public:
  std::uint64_t add(std::string name, CallBack call_back) {
    const Lock held(locks_.mutex);
    const std::uint64_t id = ++last_id_;
    entries_.push_back({id, std::move(name), std::move(call_back)});
    return id;
  }

  // When it returns, the call-back isn't running (unless it is the caller) and won't run again.
  void remove(std::uint64_t id) noexcept {
    Entries gone;  // functions may hold handles: destroyed without the lock
    Lock held(locks_.mutex);
    const bool is_inside = locks_.is_running_here(id);
    if (!is_inside) locks_.wait_for_end(id);
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
    const Lock held(locks_.mutex);
    gone.swap(entries_);
  }

  // Calls visit(name, call_back) for each. One pass at a time, others wait: not from a call-back.
  template <typename Visit>
  void for_each(Visit&& visit) {
    const Lock one_at_a_time(locks_.pass);
    Entries gone;
    Lock held(locks_.mutex);
    locks_.running_thread = std::this_thread::get_id();
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      // A thread that a forked child doesn't have may have left one that was removed.
      if (entry->id != kRemoved) {
        locks_.running_id = entry->id;
        held.unlock();
        visit(entry->name, entry->call_back);
        held.lock();
        locks_.running_id = CallBackLocks::kNone;
      }
      const auto done = entry++;
      if (done->id == kRemoved) gone.splice(gone.end(), entries_, done);
      locks_.call_ended.notify_all();
    }
    held.unlock();
  }

 private:
  static constexpr std::uint64_t kRemoved = 0;
  struct Entry {
    std::uint64_t id;
    std::string name;
    CallBack call_back;
  };
  using Entries = std::list<Entry>;  // entries keep their places while others come and go

  CallBackLocks locks_;
  Entries entries_ TARE_GUARDED_BY(locks_.mutex);
  std::uint64_t last_id_ TARE_GUARDED_BY(locks_.mutex) = 0;
};

}  // namespace tare::inline TARE_ABI
