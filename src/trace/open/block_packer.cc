// Pending events to blocks: see block_packer.h.
#include "trace/open/block_packer.h"

namespace tare::trace {

std::span<const std::uint8_t> BlockPacker::pack_front(EventBlockEncoder& encoder, const Dictionary& dictionary,
                                                      std::uint32_t& used_shapes, std::size_t count,
                                                      std::uint64_t spool_events) {
  BlockHeader header;
  header.thread = thread;
  header.first_event = packed_events;
  header.spool_events = spool_events - packed_events;
  header.first_chunk = first_chunk;
  header.last_chunk = last_chunk;
  const std::span<const std::uint8_t> payload =
      encoder.encode(header, std::span<const Event>(pending).first(count), dictionary, used_shapes);
  packed_events = spool_events;
  first_chunk = last_chunk;
  pending.drop_front(count);
  return payload;
}

}  // namespace tare::trace
