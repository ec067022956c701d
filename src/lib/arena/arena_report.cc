// The report of an arena. Separate, so that programs without reports aren't linked with reporters.
#include "tare/arena.h"
#include "tare/memory_reporter.h"

namespace tare::inline TARE_ABI {

void Arena::report(ReportSink& sink) const {
  for (Chunk* chunk = newest_; chunk != nullptr; chunk = chunk->previous) {
    if (options_.source.memory == ArenaSource::Memory::Heap) {
      sink.block("chunks", memory_of(chunk), "what the arena hands out from");
    } else {
      sink.non_heap("chunks", chunk->size_bytes, "what the arena hands out from");
    }
  }
  sink.other_bytes("used", use().used_bytes, "handed out by the arena");
  sink.other_bytes("slack", use().slack_bytes, "in the arena's chunks, and not handed out");
}

}  // namespace tare::inline TARE_ABI
