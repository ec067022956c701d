// From samples to events: see watch_trace.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/watch/watch_trace.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/imports/import_writer.h"
#include "trace/model/watched_source.h"
#include "trace/open/open_trace.h"
#include "trace/watch/watch_file.h"

namespace tare::core {

namespace {

using trace::WatchedProcess;

// Modules and rows as the recorder published them; rows of Python with their names.
Status put_tables(ImportWriter& writer, WatchedProcess& process) {
  for (trace::Module& module : process.tables.modules) {
    if (const auto added = writer.add_module(std::move(module)); !added) return added.error();
  }
  std::map<std::uint32_t, std::vector<trace::GivenFrame>> named;
  for (trace::GivenFrame& frame : process.tables.given_frames) named[index(frame.row)].push_back(std::move(frame));
  for (std::uint32_t row = 0; row < process.tables.rows.size(); ++row) {
    const std::uint64_t bits = process.tables.rows[row];
    auto module = static_cast<std::uint32_t>(bits >> 48);
    if (module >= process.tables.modules.size()) module = index(trace::kNoModule);
    const std::uint64_t address = bits & ((std::uint64_t{1} << 48) - 1);
    const auto names = named.find(row);
    const auto added = names == named.end() ? writer.add_row(module, address)
                                            : writer.add_named_row(module, address, std::move(names->second));
    if (!added) return added.error();
  }
  return ok();
}

// The trace's stack of a node's id; 0 is the empty one in both.
class Stacks {
 public:
  Stacks(ImportWriter& writer, const WatchedProcess& process)
      : writer_(writer), process_(process), known_(process.nodes.size() + 1, 0) {}

  Result<std::uint32_t> of(std::uint32_t node) {
    path_.clear();
    std::uint32_t at = node;
    for (; at != 0 && known_[at] == 0; at = process_.nodes[at - 1].parent) path_.push_back(at);
    std::uint32_t stack = known_[at];
    for (; !path_.empty(); path_.pop_back()) {
      const std::uint32_t row = process_.nodes[path_.back() - 1].row - 1;
      const auto next = writer_.stack(stack, row < process_.tables.rows.size() ? row : 0);
      if (!next) return next;
      stack = known_[path_.back()] = *next;
    }
    return stack;
  }

 private:
  ImportWriter& writer_;
  const WatchedProcess& process_;
  std::vector<std::uint32_t> known_;
  std::vector<std::uint32_t> path_;
};

// Stamps to ns since the beginning: through the first calibration point and the last.
std::vector<trace::ClockPair> clock_of(const WatchedProcess& process) {
  std::vector<trace::ClockPair> pairs{process.start};
  const trace::WatchTotals& totals = process.totals;
  if (totals.stamp > process.start.stamp && totals.monotonic_ns > process.start.monotonic_ns) {
    pairs.push_back({totals.stamp, totals.monotonic_ns});
  }
  return pairs;
}

// A word of the missing facts, behind a comma.
const char* stopped_by_budget(std::uint32_t stop) {
  switch (static_cast<trace::WatchStop>(stop)) {
    case trace::WatchStop::CpuBudget:
      return ",after-cpu-budget";
    case trace::WatchStop::MemoryBudget:
      return ",after-memory-budget";
    case trace::WatchStop::DiskBudget:
      return ",after-disk-budget";
    default:
      return "";
  }
}

}  // namespace

namespace {

Status write(WatchedProcess* process, const std::string& output) {
  if (process->tables.rows.empty()) process->tables.rows.push_back(std::uint64_t{0xffff} << 48);
  trace::ProcessInfo info = process->info;
  info.imported_from = trace::kWatchedSource;
  info.missing_facts = std::string("reallocs,peak,totals") + stopped_by_budget(process->totals.stop);
  if (std::any_of(process->samples.begin(), process->samples.end(),
                  [](const trace::WatchSample& sample) { return (sample.traits & trace::kWatchResting) != 0; })) {
    info.missing_facts += ",exact-stacks";
  }
  if (info.sample_bytes == 0) info.sample_bytes = 1;
  auto writer = ImportWriter::create(output, std::move(info));
  if (!writer) return writer.error();
  const std::size_t rows = process->tables.rows.size();
  if (Status status = put_tables(**writer, *process); !status) return status;
  process->tables.rows.resize(rows);
  Stacks stacks(**writer, *process);
  const trace::Clock clock(clock_of(*process));
  for (const trace::WatchSample& sample : process->samples) {
    const auto stack = stacks.of(sample.node);
    if (!stack) return stack.error();
    std::uint32_t api = sample.traits & trace::kWatchApiMask;
    if ((trace::kKnownAllocApis >> api & 1) == 0) api = static_cast<std::uint32_t>(trace::AllocApi::Malloc);
    const std::uint32_t align = sample.traits >> trace::kWatchAlignShift & trace::kWatchAlignMask;
    const auto shape = (*writer)->shape(*stack, static_cast<trace::AllocApi>(api),
                                        align == 0 || align > 47 ? 0 : std::uint64_t{1} << align, sample.requested,
                                        sample.usable, sample.weight);
    if (!shape) return shape.error();
    // A parent's block is older than the process.
    const bool is_older = sample.stamp < process->start.stamp;
    if (Status status = (*writer)->begin_block(is_older ? 0 : clock.ns(sample.stamp),
                                               sample.thread % trace::kMaxThreads, sample.address, *shape);
        !status) {
      return status;
    }
  }
  return (*writer)->finish(clock.ns(process->totals.stamp), process->has_ended, 0);
}

}  // namespace

Status write_watch_trace(const std::string& watch_file, const std::string& output) {
  Result<WatchedProcess> process = trace::read_watch_file(watch_file);
  if (!process) return process.error();
  return write(&*process, output);
}

}  // namespace tare::core
