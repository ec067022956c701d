// Kills for lack of memory that the kernel counted during a recording, and the recorded processes that they ended.
//
// A counter names no victim. So a rise is booked to the processes that were seen dying or dead since the counter was
// last settled: each kill once, so that a later SIGKILL by somebody else isn't taken for the kernel's.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/launcher/groups/memory_groups.h"
#include "trace/model/process_info.h"

namespace tare::core {

class KillLedger {
 public:
  // A process that is over. Unless its status is known, any end out of order may be a kill.
  struct Death {
    pid_t pid;
    std::optional<int> wait_status;
    bool in_order;
  };

  // `ancestor`: all others descend from it, and begin in its group.
  // `many_counters`: with more, it forgets groups that nobody is in any more.
  KillLedger(MemoryGroups groups, pid_t ancestor, std::size_t many_counters = 1024);

  // The process has a new image: it may have changed its group before.
  void enter(pid_t pid);
  // The lowest memory limit of the group that the process was seen in, and of those above it; 0: none.
  std::uint64_t limit_bytes(pid_t pid) const;
  // Of the group that the process is in now: MemoryGroups::free_bytes().
  std::optional<std::uint64_t> free_bytes(pid_t pid) const { return groups_.free_bytes(groups_.of_process(pid)); }
  // Before judge(): books kills of processes that are still dying. Cheap while the machine counts no kill.
  void look(std::uint64_t now_ns) { settle({}, now_ns); }
  // Of all that are over now, at once: they share the kills.
  void judge(std::span<const Death> deaths, std::uint64_t now_ns) { settle(deaths, now_ns); }
  // The process's end as judged, once. Nothing: the kernel counted no kill that may have been its end.
  std::optional<trace::MemoryKill> take(pid_t pid);
  std::size_t counters() const { return counters_.size(); }

 private:
  struct Member {
    std::string group;
    bool group_is_own = false;  // it was seen in it
    std::optional<trace::MemoryKill> kill;
  };
  struct Counter {
    KillCount settled;
    std::uint64_t limit_bytes = 0;
    std::uint64_t risen_ns = 0;  // since then it's higher, and no victim was seen; 0: it isn't
  };
  struct Candidate {
    pid_t pid;
    Member* member;
    bool is_killed;  // by SIGKILL, for sure
    std::string decided_by;
  };

  void sweep();
  void count(const std::string& group);
  std::optional<KillCount> count_now(const std::string& folder) const;
  void settle(std::span<const Death> deaths, std::uint64_t now_ns);
  std::vector<Candidate> candidates_of(std::span<const Death> deaths);
  std::uint64_t limit_of(const std::string& group, const std::map<std::string, KillCount>& now) const;
  void choose_counter(Candidate& candidate, const std::map<std::string, KillCount>& now) const;

  MemoryGroups groups_;
  std::string first_group_;
  std::size_t sweep_at_;
  std::map<pid_t, Member> members_;
  std::map<std::string, Counter> counters_;  // by folder; "": the machine's
  bool is_waiting_ = false;                  // a counter rose, and no victim was seen
};

}  // namespace tare::core
