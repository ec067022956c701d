// Reading each member's facts: see members.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/recording/members.h"

#include <filesystem>

#include "trace/container.h"
#include "trace/spool_folder.h"
#include "trace/trace_reader.h"

namespace tare::core {

namespace {

// A killed launcher leaves the spools of short processes that it hadn't put into the container: each can be read.
void warn_of_spools(const std::string& container, const std::string& folder, std::vector<std::string>& warnings) {
  const std::optional<trace::SpoolFolder> spools = trace::SpoolFolder::around(folder + "/");
  if (!spools) {
    warnings.push_back(container + " has no directory: the recording was cut short; what was written is shown");
  } else if (spools->launcher_lives()) {
    warnings.push_back(container + " is still being recorded; shown are the processes that have ended so far");
  } else {
    warnings.push_back("the launcher of " + container + " was killed; processes that it hadn't written yet are in " +
                       folder + "/PID.N.spool, and each can be reported on there");
  }
}

}  // namespace

Result<MemberList> list_members(const std::string& path) {
  const Result<trace::Container> container = trace::read_container(path);
  if (!container) return container.error();
  MemberList list;
  if (container->damage) list.warnings.push_back(container->damage->message);
  if (!container->finished && !container->damage) warn_of_spools(path, container->spool_folder, list.warnings);
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
  return list;
}

}  // namespace tare::core
