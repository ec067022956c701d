// Pending events to blocks: see block_packer.h.
#include "trace/block_packer.h"

namespace tare::trace {

std::span<const std::uint8_t> BlockPacker::pack(EventBlockEncoder& encoder, const Dictionary& dictionary,
                                                std::uint32_t& used_shapes) {
  BlockHeader header;
  header.thread = thread;
  header.first_event = packed_events;
  header.spool_events = decode.spool_events - packed_events;
  header.first_chunk = first_chunk;
  header.last_chunk = last_chunk;
  const std::span<const std::uint8_t> payload = encoder.encode(header, pending, dictionary, used_shapes);
  packed_events = decode.spool_events;
  first_chunk = last_chunk;
  pending.clear();
  return payload;
}

}  // namespace tare::trace
