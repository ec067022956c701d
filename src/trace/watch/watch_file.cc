// Copies and checks a watch file: see watch_file.h.
// SPDX-License-Identifier: Apache-2.0
#include "trace/watch/watch_file.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trace/spool/spool_file.h"

namespace tare::trace {

namespace {

constexpr SpoolTables kWatchTables{kWatchMagic,
                                   kWatchVersion,
                                   "a watch file",
                                   "a process makes one with: tare watch -- COMMAND",
                                   kWatchStrings,
                                   kWatchStringBytes,
                                   kWatchModules,
                                   kWatchMaxModules,
                                   kWatchRows,
                                   kWatchMaxRows,
                                   0};

// The atomic word of a WatchState is a plain word here.
struct StateCopy {
  alignas(WatchState) unsigned char bytes[sizeof(WatchState)] = {};
  const WatchState& operator*() const { return *reinterpret_cast<const WatchState*>(bytes); }
  const WatchState* operator->() const { return &**this; }
};

bool is_plain(double value) { return std::isfinite(value) && value >= 0; }

bool is_valid(const WatchTotals& totals) {
  return totals.check == watch_check(totals) && totals.nodes <= kWatchMaxNodes && totals.sums <= kWatchMaxSums &&
         totals.sample_slots <= kWatchMaxSamples && is_plain(totals.allocated_bytes) &&
         is_plain(totals.allocated_blocks) && is_plain(totals.freed_bytes) && is_plain(totals.freed_blocks);
}

bool is_valid(const WatchSample& sample) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 47;
  constexpr std::uint64_t kMostAddress = std::uint64_t{1} << 48;
  return sample.address != 0 && sample.check == watch_check(sample) && sample.address < kMostAddress &&
         sample.requested <= sample.usable && sample.usable <= kMostBytes && sample.weight >= 1 &&
         sample.weight <= 1e15;
}

bool is_valid(const WatchSum& sum) {
  return is_plain(sum.allocated_bytes) && is_plain(sum.allocated_blocks) && is_plain(sum.freed_bytes) &&
         is_plain(sum.freed_blocks);
}

Error damaged(const std::string& path, std::uint64_t offset, const std::string& what) {
  return {ErrorKind::Corrupt,
          path + " is damaged at offset " + std::to_string(offset) + ": " + what + "; record again"};
}

// The valid copy of the totals with the greater serial. Null: neither is valid.
const WatchTotals* newest(const WatchState& state) {
  const WatchTotals* found = nullptr;
  for (const WatchTotals& totals : state.totals) {
    if (is_valid(totals) && (found == nullptr || totals.serial > found->serial)) found = &totals;
  }
  return found;
}

template <typename Entry>
Status read_entries(const SpoolFile& file, std::uint64_t offset, std::uint64_t count, std::vector<Entry>& entries) {
  entries.resize(count);
  return file.read_whole(entries.data(), count * sizeof(Entry), offset);
}

// One copy of all that changes together; `sequence` is that of its beginning.
Status read_changing(const SpoolFile& file, WatchParts parts, WatchedProcess& process, std::uint64_t& sequence) {
  StateCopy state;
  if (Status status = file.read_whole(state.bytes, sizeof(state.bytes), kWatchState); !status) return status;
  const WatchTotals* const totals = newest(*state);
  if (totals == nullptr) return damaged(file.path(), kWatchState, "its totals are invalid");
  sequence = state->sequence.load();
  process.totals = *totals;
  process.process_start_ticks = state->process_start_ticks;
  process.boot_id.assign(state->boot_id, ::strnlen(state->boot_id, sizeof(state->boot_id)));
  process.first_sample_bytes = state->first_sample_bytes;
  process.budget = state->budget;
  if (!(process.budget.cpu_share >= 0 && process.budget.cpu_share <= 1)) process.budget.cpu_share = 0;
  // Of a process that was killed while it wrote, the last sample may lie behind the slots that the totals count.
  const std::uint64_t slots = std::min<std::uint64_t>(process.totals.sample_slots + 64, kWatchMaxSamples);
  if (Status status = read_entries(file, kWatchSamples, slots, process.samples); !status) return status;
  if (parts == WatchParts::Facts) return ok();
  if (Status status = read_entries(file, kWatchSums, process.totals.sums, process.sums); !status) return status;
  const std::uint64_t nodes = std::min<std::uint64_t>(process.totals.nodes + 8192, kWatchMaxNodes);
  return read_entries(file, kWatchNodes, nodes, process.nodes);
}

Status read_consistently(const SpoolFile& file, WatchParts parts, WatchedProcess& process) {
  constexpr int kMostTries = 20;
  for (int tries = 0;; ++tries) {
    std::uint64_t before = 0;
    if (Status status = read_changing(file, parts, process, before); !status) return status;
    std::uint64_t after = 0;
    if (Status status = file.read_whole(&after, sizeof(after), kWatchState); !status) return status;
    if (before % 2 == 0 && before == after) return ok();
    if (tries == kMostTries) return ok();  // a dead process's word may be odd for ever
    ::sched_yield();
  }
}

}  // namespace

double WatchedProcess::live_bytes() const {
  double sum = 0;
  for (const WatchSample& sample : samples) sum += sample.weight * static_cast<double>(sample.usable);
  return sum;
}

double WatchedProcess::live_blocks() const {
  double sum = 0;
  for (const WatchSample& sample : samples) sum += sample.weight;
  return sum;
}

// A block of s bytes is sampled with probability 1 / w: its contribution has the variance s * s * (w - 1), which the
// samples estimate by s * s * w * (w - 1).
double WatchedProcess::live_bytes_error() const {
  double sum = 0;
  for (const WatchSample& sample : samples) {
    const auto bytes = static_cast<double>(sample.usable);
    sum += bytes * bytes * sample.weight * (sample.weight - 1);
  }
  return std::sqrt(sum);
}

std::uint64_t WatchedProcess::inherited() const {
  return static_cast<std::uint64_t>(std::count_if(samples.begin(), samples.end(), [](const WatchSample& sample) {
    return (sample.traits & kWatchInherited) != 0;
  }));
}

std::string stop_reason(std::uint32_t stop) {
  switch (static_cast<WatchStop>(stop)) {
    case WatchStop::None:
    case WatchStop::Resting:
      return {};
    case WatchStop::Full:
      return "too many sampled blocks were live";
    case WatchStop::NoSpace:
      return "the file system was full";
    case WatchStop::Recorded:
      return "another recording of the process began";
    case WatchStop::CpuBudget:
      return "the budget's CPU share can't be kept at any distance between samples";
    case WatchStop::MemoryBudget:
      return "the budget's memory can't be kept at any distance between samples";
    case WatchStop::DiskBudget:
      return "the budget's disk space can't be kept at any distance between samples";
  }
  return "an unknown reason";
}

Result<WatchedProcess> read_watch_file(const std::string& path, WatchParts parts) {
  const Result<SpoolFile> file = SpoolFile::open(path, kWatchTables);
  if (!file) return file.error();
  WatchedProcess process;
  if (Status status = read_consistently(*file, parts, process); !status) return status.error();
  // Rows, modules and strings are older than the samples that refer to them, and never change.
  Result<ProcessInfo> info = file->process();
  if (!info) return info.error();
  process.info = *std::move(info);
  process.info.sample_bytes = process.totals.sample_bytes;
  process.start = file->start();
  process.stamps_are_ns = file->stamps_are_ns();
  process.has_ended = process.info.ended_in_order || process.info.replaced_by_exec;
  std::erase_if(process.samples, [](const WatchSample& sample) { return !is_valid(sample); });
  std::sort(process.samples.begin(), process.samples.end(), [](const WatchSample& a, const WatchSample& b) {
    return a.stamp != b.stamp ? a.stamp < b.stamp : a.address < b.address;
  });
  if (parts == WatchParts::Facts) return process;
  const Result<SpoolCounts> counts = file->counts();
  if (!counts) return counts.error();
  if (Status status = file->grow(*counts, process.tables); !status) return status.error();
  // Up to the first that isn't there. Older parents only: no circle.
  std::size_t valid = 0;
  while (valid < process.nodes.size() && process.nodes[valid].row != 0 && process.nodes[valid].parent <= valid) ++valid;
  process.nodes.resize(valid);
  std::erase_if(process.sums, [&](const WatchSum& sum) { return !is_valid(sum) || sum.node > valid; });
  for (WatchSample& sample : process.samples) {
    if (sample.node > valid) sample.node = 0;
  }
  return process;
}

}  // namespace tare::trace
