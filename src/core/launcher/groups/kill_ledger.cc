// Booking kills to processes: see kill_ledger.h.
#include "core/launcher/groups/kill_ledger.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tare::core {
namespace {

// The kernel counts a kill and then sends the signal. On a busy machine the victim may not run in between.
constexpr std::uint64_t kWaitForVictimNs = 1'000'000'000;

const std::string kMachine;

}  // namespace

KillLedger::KillLedger(MemoryGroups groups, pid_t ancestor, std::size_t many_counters)
    : groups_(std::move(groups)), first_group_(groups_.of_process(ancestor)), sweep_at_(many_counters) {
  count(first_group_);
}

std::optional<KillCount> KillLedger::count_now(const std::string& folder) const {
  return folder.empty() ? groups_.machine_kills() : groups_.kills(folder);
}

// Forgets groups that nobody is in any more.
void KillLedger::sweep() {
  std::set<std::string> used{kMachine};
  const auto use = [&](const std::string& group) {
    for (std::string& folder : groups_.with_parents(group)) used.insert(std::move(folder));
  };
  use(first_group_);
  for (const auto& [pid, member] : members_) use(member.group);
  std::erase_if(counters_, [&](const auto& counter) { return !used.contains(counter.first); });
  sweep_at_ = std::max(sweep_at_, 2 * counters_.size());
}

// Begins with the counters of the group and those above it.
void KillLedger::count(const std::string& group) {
  if (counters_.size() > sweep_at_) sweep();
  std::vector<std::string> folders = groups_.with_parents(group);
  if (!counters_.contains(kMachine)) folders.push_back(kMachine);
  for (const std::string& folder : folders) {
    const std::optional<KillCount> now = count_now(folder);
    const auto known = counters_.find(folder);
    const bool is_same = now && known != counters_.end() && known->second.settled.inode == now->inode;
    if (is_same) return;  // so those above it are, too; one that was made anew under its name begins anew
    if (now) counters_[folder] = {*now, groups_.limit_bytes(folder), 0};
  }
}

void KillLedger::enter(pid_t pid) {
  Member member;
  member.group = groups_.of_process(pid);
  member.group_is_own = !member.group.empty();
  if (!member.group_is_own) member.group = first_group_;
  const auto known = members_.find(pid);
  if (known != members_.end() && (known->second.group == member.group || !member.group_is_own)) {
    known->second.group_is_own = known->second.group_is_own || member.group_is_own;
    return;
  }
  count(member.group);
  members_[pid] = std::move(member);
}

std::uint64_t KillLedger::limit_bytes(pid_t pid) const {
  const auto member = members_.find(pid);
  return member == members_.end() ? 0 : groups_.limit_bytes(member->second.group);
}

std::optional<trace::MemoryKill> KillLedger::take(pid_t pid) {
  const auto member = members_.find(pid);
  if (member == members_.end()) return std::nullopt;
  std::optional<trace::MemoryKill> kill = std::move(member->second.kill);
  members_.erase(member);
  return kill;
}

// Those dead or dying that may be victims, and have no kill yet.
std::vector<KillLedger::Candidate> KillLedger::candidates_of(std::span<const Death> deaths) {
  std::vector<Candidate> candidates;
  for (const Death& death : deaths) {
    Member& member = members_.try_emplace(death.pid, Member{first_group_, false, {}}).first->second;
    const bool known = death.wait_status.has_value();
    const bool killed = known && WIFSIGNALED(*death.wait_status) && WTERMSIG(*death.wait_status) == SIGKILL;
    if (known ? !killed : death.in_order) {
      member.kill.reset();  // a signal that came too late
    } else if (!member.kill) {
      candidates.push_back({death.pid, &member, killed, {}});
    }
  }
  for (auto& [pid, member] : members_) {
    const bool is_dead = std::ranges::find(deaths, pid, &Death::pid) != deaths.end();
    if (!is_dead && !member.kill && pid > 0 && groups_.is_dying(pid)) candidates.push_back({pid, &member, true, {}});
  }
  return candidates;
}

// The first group that still exists decides. Its own may be gone with its last process.
void KillLedger::choose_counter(Candidate& candidate, const std::map<std::string, KillCount>& now) const {
  candidate.decided_by = kMachine;
  for (const std::string& folder : groups_.with_parents(candidate.member->group)) {
    const auto current = now.find(folder);
    const auto before = counters_.find(folder);
    if (current == now.end() || before == counters_.end()) continue;
    if (current->second.inode != before->second.settled.inode) continue;
    candidate.decided_by = folder;
    return;
  }
}

// As it stands; where the group is gone, as it was when the group was first seen.
std::uint64_t KillLedger::limit_of(const std::string& group, const std::map<std::string, KillCount>& now) const {
  if (now.contains(group)) return groups_.limit_bytes(group);
  const auto counter = counters_.find(group);
  return counter == counters_.end() ? 0 : counter->second.limit_bytes;
}

void KillLedger::settle(std::span<const Death> deaths, std::uint64_t now_ns) {
  const auto machine = counters_.find(kMachine);
  // No process of the machine was killed. Of groups that counted one before, the victim may come yet.
  if (!is_waiting_ && machine != counters_.end() && count_now(kMachine) == machine->second.settled) return;
  std::map<std::string, KillCount> now;
  bool risen = false;
  for (const auto& [folder, counter] : counters_) {
    const std::optional<KillCount> count = count_now(folder);
    if (!count) continue;
    now.emplace(folder, *count);
    risen = risen || count->kills != counter.settled.kills;
  }
  if (!risen) return;
  std::vector<Candidate> candidates = candidates_of(deaths);
  std::map<std::string, std::uint64_t> victims;
  for (Candidate& candidate : candidates) {
    choose_counter(candidate, now);
    ++victims[candidate.decided_by];
  }
  std::vector<std::string> booked;
  for (const Candidate& candidate : candidates) {
    const auto counter = counters_.find(candidate.decided_by);
    const auto current = now.find(candidate.decided_by);
    if (counter == counters_.end() || current == now.end()) continue;
    const std::uint64_t before = counter->second.settled.kills;
    if (current->second.kills <= before) continue;
    Member& member = *candidate.member;
    const bool direct = candidate.is_killed && member.group_is_own && candidate.decided_by == member.group;
    member.kill = trace::MemoryKill{
        candidate.decided_by,       direct, before, current->second.kills, victims[candidate.decided_by],
        limit_of(member.group, now)};
    for (const std::string& folder : groups_.with_parents(member.group)) booked.push_back(folder);
    booked.push_back(kMachine);
  }
  is_waiting_ = false;
  for (auto& [folder, counter] : counters_) {
    const auto current = now.find(folder);
    if (current == now.end()) continue;
    const bool is_higher = current->second != counter.settled;
    if (is_higher && counter.risen_ns == 0) counter.risen_ns = now_ns;
    // A victim that wasn't recorded, or one of another group.
    const bool is_late = is_higher && now_ns >= counter.risen_ns + kWaitForVictimNs;
    if (!is_higher || is_late || std::ranges::find(booked, folder) != booked.end())
      counter = {current->second, counter.limit_bytes, 0};
    is_waiting_ = is_waiting_ || counter.risen_ns != 0;
  }
}

}  // namespace tare::core
