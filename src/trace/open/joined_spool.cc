// Finding and importing a trace's spool: see joined_spool.h.
#include "trace/open/joined_spool.h"

#include <filesystem>
#include <map>

#include "trace/open/finish_leftover.h"
#include "trace/spool/spool_folder.h"

namespace tare::trace {

namespace {

// The youngest image of the launcher's own child: a launcher that was killed at its start left no other fact.
std::string spool_made_by_child_of(std::uint32_t launcher, const std::string& folder) {
  std::string found;
  std::uint32_t image = 0;
  if (!SpoolFolder::around(folder)) return found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != kSpoolSuffix || entry.file_size(ignored) == 0) continue;
    const Result<SpoolFile> spool = SpoolFile::open(entry.path());
    if (!spool) continue;
    const Result<ProcessInfo> info = spool->process();
    if (!info || info->parent_pid != launcher || (!found.empty() && info->image_index < image)) continue;
    found = entry.path();
    image = info->image_index;
  }
  return found;
}

}  // namespace

bool launcher_lives(const std::string& spool_path) {
  const std::optional<SpoolFolder> folder = SpoolFolder::around(spool_path);
  return folder && folder->launcher_lives();
}

std::string find_spool(const ProcessRecord& record) {
  std::string path = record.spool_path;
  if (!path.empty() && path.back() == '/') path = spool_made_by_child_of(record.info.parent_pid, path);
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? path : std::string();
}

Result<SpoolImport> import_joined(const std::string& spool_path, TraceIndex& index) {
  const Result<SpoolFile> spool = SpoolFile::open(spool_path);
  if (!spool) return spool.error();
  Result<ProcessInfo> info = spool->process();
  if (!info) return info.error();
  ProcessInfo& traced = index.process.info;
  if (traced.start_realtime_ns == 0 && info->parent_pid == traced.parent_pid) {
    traced = std::move(*info);  // the launcher died before it read the spool
  } else if (info->pid != traced.pid || info->start_realtime_ns != traced.start_realtime_ns) {
    return Error{ErrorKind::NotATrace, spool_path + " belongs to another recording; what the trace holds is shown"};
  } else {
    // Counters and endings that the launcher didn't live to copy.
    traced.ended_in_order = info->ended_in_order;
    traced.replaced_by_exec = info->replaced_by_exec;
    traced.launcher_died = info->launcher_died;
    traced.malloc_bypassed = info->malloc_bypassed;
    traced.dropped_events = info->dropped_events;
    traced.truncated_stacks = info->truncated_stacks;
    traced.unwind_failures = info->unwind_failures;
    traced.unwind_gaps = info->unwind_gaps;
    traced.nested_events = info->nested_events;
    traced.python = info->python;
  }
  std::map<std::uint32_t, ThreadProgress> known;
  if (traced.segment) {
    for (const ThreadPosition& at : traced.segment->positions) known[at.thread] = {at.made_events, at.last_stamp};
  }
  for (const BlockRef& block : index.blocks) {
    known[block.header.thread] = {block.header.first_event + block.header.spool_events, block.header.last_stamp};
  }
  Result<SpoolImport> import = import_spool(*spool, known, index.dictionary);
  if (import && traced.segment) {  // the spool's clock began with the first segment
    std::erase_if(import->clock_pairs, [&](const ClockPair& at) { return at.stamp < traced.segment->stamp; });
  }
  return import;
}

}  // namespace tare::trace
