// Replay while recording: see fused_replay.h.
#include "core/drain/fused_replay.h"

#include <memory>
#include <utility>

#include "core/columns/table_cache.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

Status store_and_keep(const std::string& path, Tables made, FreshTables& fresh) {
  const auto tables = std::make_shared<const Tables>(std::move(made));
  fresh.keep(path, tables);
  return TableCache(path).store(kReplayedTables, *tables);
}

}  // namespace

Status FusedReplay::store(const std::string& path, std::span<const trace::ClockPair> clock_pairs, FreshTables& fresh) {
  merge_.finish();
  if (!exit_contents_.empty()) replay_.add_exit_contents(exit_contents_);
  return store_and_keep(path, replay_.finish(clock_pairs), fresh);
}

Status replay_file_into_cache(const std::string& path, FreshTables& fresh) {
  Result<trace::OpenedTrace> opened = trace::open_trace(path);
  if (!opened) return opened.error();
  Replay replay(opened->dictionary(), opened->info(), {});
  if (Status status = opened->replay_into(replay); !status) return status;
  if (Status status = replay_kept(*opened, replay); !status) return status;
  return store_and_keep(path, replay.finish(opened->clock_pairs()), fresh);
}

}  // namespace tare::core
