// Forks of forks: the parent's own inheritance comes first.
#include "core/tables/inherited.h"

#include <filesystem>
#include <utility>

#include "trace/base/segment_names.h"

namespace tare::core {
namespace {

// Shells fork some three deep; a chain this long means that files name each other in a circle.
constexpr int kMaxGenerations = 64;

// The parent's trace, or the segment of it that has the fork: `path` names the latest.
Result<trace::OpenedTrace> open_at_fork(std::string path, std::uint64_t fork_stamp) {
  std::uint32_t least = ~0u;  // files that name each other in a circle have an end, too
  while (true) {
    auto opened = trace::open_trace(path);
    if (!opened) return opened;
    const std::optional<trace::Segment>& segment = opened->info().segment;
    if (!segment || segment->number <= 1 || segment->number >= least || segment->stamp <= fork_stamp) return opened;
    least = segment->number;
    path = trace::segment_path(trace::segment_base(path), segment->number - 1);
  }
}

std::uint64_t made_before(const std::optional<trace::Segment>& segment, std::uint32_t thread) {
  if (!segment) return 0;
  for (const trace::ThreadPosition& at : segment->positions) {
    if (at.thread == thread) return at.made_events;
  }
  return 0;
}

std::optional<LiveSet> inherited_by(const std::string& path, const trace::OpenedTrace& opened,
                                    const trace::ReplayProgress& progress, std::vector<std::string>& warnings,
                                    int generation) {
  const std::optional<trace::Segment>& segment = opened.info().segment;
  if (segment && segment->number > 1) return opened.live_before();
  const std::optional<trace::ForkOrigin>& fork = opened.info().fork;
  if (!fork) return std::nullopt;
  const auto unknown = [&](const std::string& why) {
    warnings.push_back("blocks inherited from process " + std::to_string(fork->parent_pid) + " aren't counted: " + why);
    return std::nullopt;
  };
  if (fork->parent_trace.empty()) return unknown("its trace isn't known");
  if (generation == kMaxGenerations) return unknown("too many forks of forks");
  // only the last part of the recorded name: a trace must not make us read files elsewhere
  const std::filesystem::path parent_path =
      std::filesystem::path(path).parent_path() / std::filesystem::path(fork->parent_trace).filename();
  auto parent = open_at_fork(parent_path.string(), fork->stamp);
  if (!parent) return unknown(parent.error().message);
  if (parent->info().pid != fork->parent_pid) return unknown(parent_path.string() + " belongs to another process");
  const std::optional<LiveSet> grandparents =
      inherited_by(parent_path.string(), *parent, progress, warnings, generation + 1);
  LiveSetAtFork at_fork(parent->dictionary(), *fork, grandparents ? &*grandparents : nullptr,
                        made_before(parent->info().segment, fork->parent_thread));
  if (const Status read = parent->replay_into(at_fork, progress); !read && !at_fork.taken()) {
    warnings.push_back("blocks inherited from process " + std::to_string(fork->parent_pid) +
                       " are counted as far as its trace could be read: " + read.error().message);
  }
  return at_fork.take();
}

}  // namespace

std::optional<LiveSet> inherited_blocks(const std::string& path, const trace::OpenedTrace& opened,
                                        const trace::ReplayProgress& progress, std::vector<std::string>& warnings) {
  return inherited_by(path, opened, progress, warnings, 0);
}

}  // namespace tare::core
