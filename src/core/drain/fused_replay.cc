// Replay while recording: see fused_replay.h.
#include "core/drain/fused_replay.h"

#include <memory>
#include <utility>

#include "core/columns/fresh_tables.h"
#include "core/columns/table_cache.h"
#include "trace/open/open_trace.h"

namespace tare::core {
namespace {

Status store_and_keep(const std::string& path, Tables made) {
  const auto tables = std::make_shared<const Tables>(std::move(made));
  fresh_tables::keep(path, tables);
  return TableCache(path).store(kReplayedTables, *tables);
}

}  // namespace

Status FusedReplay::store(const std::string& path, std::span<const trace::ClockPair> clock_pairs) {
  merge_.finish();
  if (!kept_.empty()) replay_.kept(kept_);
  return store_and_keep(path, replay_.finish(clock_pairs));
}

Status replay_file_into_cache(const std::string& path) {
  Result<trace::OpenedTrace> opened = trace::open_trace(path);
  if (!opened) return opened.error();
  Replay replay(opened->dictionary(), opened->info(), {});
  if (Status status = opened->replay_into(replay); !status) return status;
  if (Status status = replay_kept(*opened, replay); !status) return status;
  return store_and_keep(path, replay.finish(opened->clock_pairs()));
}

}  // namespace tare::core
