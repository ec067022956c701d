// Reading each member's facts: see members.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/recording/members.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "trace/file/container.h"
#include "trace/file/trace_reader.h"
#include "trace/open/open_trace.h"
#include "trace/spool/spool_file.h"
#include "trace/spool/spool_folder.h"

namespace tare::core {

namespace {

// Does a trace of its own name the spool? A reader of that one takes the events over.
bool has_trace(const std::string& base, const std::string& spool, std::uint32_t pid) {
  std::error_code ignored;
  if (std::filesystem::exists(base + "." + std::to_string(pid), ignored)) return true;
  const Result<trace::TraceFile> command = trace::TraceFile::open(base);
  if (!command) return false;
  const Result<trace::TraceIndex> index = command->index();
  return index && index->process.spool_path == spool;
}

// A killed launcher leaves the spools of processes that it hadn't written yet. Each is a trace by itself.
void add_spools(const std::string& short_path, const trace::Container& container, MemberList& list) {
  const std::string base = short_path.substr(0, short_path.size() - trace::kContainerSuffix.size());
  std::error_code ignored;
  std::vector<Member> found;
  for (const auto& entry : std::filesystem::directory_iterator(container.spool_folder, ignored)) {
    const std::string path = entry.path().string();
    std::uint32_t pid = 0;
    std::uint32_t image = 0;
    if (!trace::parse_spool_name(entry.path().filename().string(), pid, image)) continue;
    if (!entry.is_regular_file(ignored) || entry.is_symlink(ignored) || !trace::SpoolFile::looks_like_spool(path))
      continue;
    if (has_trace(base, path, pid)) continue;
    const Result<trace::SpoolFile> file = trace::SpoolFile::open(path);
    const Result<trace::OpenedTrace> spool = trace::open_trace(path);
    if (!spool || !file) {
      list.warnings.push_back(spool ? file.error().message : spool.error().message);
      continue;
    }
    const std::string name = entry.path().stem().string();
    found.push_back({path, name, spool->info(), spool->event_count(), file->allocated_bytes()});
  }
  std::ranges::sort(found, {}, [](const Member& member) { return member.info.start_realtime_ns; });
  std::ranges::move(found, std::back_inserter(list.members));
}

void explain_missing_end(const std::string& path, const trace::Container& container, MemberList& list) {
  const std::optional<trace::SpoolFolder> spools = trace::SpoolFolder::around(container.spool_folder + "/");
  if (!spools) {
    list.warnings.push_back(path + " has no directory: the recording was cut short; what was written is shown");
  } else if (spools->launcher_lives()) {
    list.warnings.push_back(path + " is still being recorded; shown are the processes that have ended so far");
  } else {
    list.warnings.push_back("the launcher of " + path +
                            " was killed; processes that it hadn't written yet are listed by their spools in " +
                            container.spool_folder);
    add_spools(path, container, list);
  }
}

}  // namespace

Result<MemberList> list_members(const std::string& path) {
  const Result<trace::Container> container = trace::read_container(path);
  if (!container) return container.error();
  MemberList list;
  if (container->damage) list.warnings.push_back(container->damage->message);
  for (const trace::ContainerMember& found : container->members) {
    Member member{path + ":" + found.name, found.name, {}, 0, found.bytes};
    const Result<trace::TraceFile> file =
        trace::TraceFile::open(member.path, {path, found.offset, found.bytes, found.parent_trace});
    if (!file) {
      list.warnings.push_back(file.error().message);
      continue;
    }
    Result<trace::TraceIndex> index = file->index();
    if (!index) {
      list.warnings.push_back(index.error().message);
      continue;
    }
    if (index->damage) list.warnings.push_back(index->damage->message);
    for (const trace::BlockRef& block : index->blocks) member.events += block.header.event_count;
    member.info = std::move(index->process.info);
    list.members.push_back(std::move(member));
  }
  if (!container->finished && !container->damage) explain_missing_end(path, *container, list);
  return list;
}

}  // namespace tare::core
