// Spool to event blocks: see spool_import.h.
#include "trace/open/spool_import.h"

#include <algorithm>

#include "trace/open/block_packer.h"

namespace tare::trace {

namespace {

class Importer {
 public:
  Importer(const SpoolFile& spool, Dictionary& dictionary, SpoolImport& import)
      : spool_(spool),
        dictionary_(dictionary),
        import_(import),
        decoder_(dictionary, [&spool](StringRef ref) { return spool.string_at(ref); }) {}

  void begin_thread(std::uint32_t thread, const ThreadProgress& known) {
    packer_ = {};
    packer_.thread = thread;
    packer_.packed_events = known.spool_events;
    packer_.decode.thread = static_cast<std::uint16_t>(thread);
    packer_.decode.skip_before = known.spool_events;
    packer_.decode.spool_events = known.spool_events;
    packer_.decode.last_stamp = known.last_stamp;
  }

  Status add_chunk(const ChunkFacts& chunk) {
    if (Status status = spool_.read_words(chunk.chunk, 0, chunk.committed / 8, words_); !status) return status;
    ThreadDecodeState& decode = packer_.decode;
    if (chunk.first_event > decode.spool_events) {
      const std::uint64_t lost = chunk.first_event - decode.spool_events;
      packer_.pending.push_back({decode.last_stamp, lost, kNoShape, decode.thread, EventKind::Dropped, 0});
      import_.warnings.push_back(std::to_string(lost) + " events of thread " + std::to_string(chunk.thread) +
                                 " are missing from " + spool_.path() + "; what follows them is shown");
    }
    if (packer_.pending.empty()) packer_.first_chunk = chunk.thread_chunk;
    packer_.last_chunk = chunk.thread_chunk;
    decode.open_chunk(chunk.first_event, chunk.open_stamp);
    if (const ChunkDamage damage = decoder_.decode(decode, words_, packer_.pending)) {
      import_.warnings.push_back(spool_.path() + " is damaged at offset " +
                                 std::to_string(chunk_offset(chunk.chunk) + damage.word * 8) + ": " + damage.what +
                                 "; the rest of that 64 KiB is left out");
    }
    if (packer_.pending.size() >= kBlockEvents) end_block();
    return ok();
  }

  void end_block() {
    if (packer_.pending.empty()) return;
    const std::span<const std::uint8_t> payload = packer_.pack(encoder_, dictionary_, used_shapes_);
    ImportedBlock& block = import_.blocks.emplace_back();
    block.payload.assign(payload.begin(), payload.end());
    EventBlockDecoder::read_header(payload, block.header);
  }

 private:
  const SpoolFile& spool_;
  Dictionary& dictionary_;
  SpoolImport& import_;
  SpoolDecoder decoder_;
  EventBlockEncoder encoder_;
  BlockPacker packer_;
  std::uint32_t used_shapes_ = static_cast<std::uint32_t>(dictionary_.shapes.size());
  std::vector<std::uint64_t> words_;
};

}  // namespace

Result<SpoolImport> import_spool(const SpoolFile& spool, const std::map<std::uint32_t, ThreadProgress>& known,
                                 Dictionary& dictionary) {
  SpoolImport import;
  // The chunks first: a program that still runs may add rows for later ones, never the other way round.
  const Result<SpoolCounts> before = spool.counts();
  if (!before) return before.error();
  const Result<std::vector<ChunkFacts>> chunks = spool.chunks(*before);
  if (!chunks) return chunks.error();
  const Result<SpoolCounts> counts = spool.counts();
  if (!counts) return counts.error();
  import.counts = *counts;
  if (Status status = spool.grow(*counts, dictionary); !status) return status.error();

  import.clock_pairs.push_back(spool.start());
  Importer importer(spool, dictionary, import);
  std::uint32_t thread = 0;
  bool first = true;
  for (const ChunkFacts& chunk : *chunks) {
    if (first || chunk.thread != thread) {
      importer.end_block();
      thread = chunk.thread;
      const auto progress = known.find(thread);
      importer.begin_thread(thread, progress == known.end() ? ThreadProgress{} : progress->second);
      first = false;
    }
    if (Status status = importer.add_chunk(chunk); !status) return status.error();
    import.clock_pairs.push_back({chunk.open_stamp, chunk.open_monotonic_ns});
  }
  importer.end_block();
  std::sort(import.clock_pairs.begin(), import.clock_pairs.end(),
            [](const ClockPair& a, const ClockPair& b) { return a.stamp < b.stamp; });
  return import;
}

}  // namespace tare::trace
