// Replay while recording: see fused_replay.h.
#include "core/collect/fused_replay.h"

#include "core/replay/table_cache.h"
#include "trace/open_trace.h"

namespace tare::core {

Status FusedReplay::store(const std::string& path, std::span<const trace::ClockPair> clock_pairs) {
  merge_.finish();
  return TableCache(path).store("tables", replay_.finish(clock_pairs));
}

Status replay_file_into_cache(const std::string& path) {
  Result<trace::OpenedTrace> opened = trace::open_trace(path);
  if (!opened) return opened.error();
  Replay replay(opened->dictionary(), opened->info(), {});
  if (Status status = opened->replay_into(replay); !status) return status;
  return TableCache(path).store("tables", replay.finish(opened->clock_pairs()));
}

}  // namespace tare::core
