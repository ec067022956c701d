// Gathers one thread's decoded events into blocks of a good size. Used while draining and when a spool is opened by
// itself.
#pragma once

#include <cstdint>
#include <span>

#include "trace/file/event_block.h"
#include "trace/model/event_buffer.h"
#include "trace/spool/spool_decoder.h"
#include "trace/spool/spool_layout.h"

namespace tare::trace {

// Guesses start anew in each block: with 64 Ki events git's trace takes 1 % more bytes an event, a compiler's 4 %, and
// a Python program's 2 % less. A thread's pending events take 2.8 MB. The last chunk may exceed the limit by its own
// size.
inline constexpr std::size_t kBlockEvents = 112 << 10;
static_assert(kBlockEvents + kChunkBytes / 8 <= kMaxBlockEvents);

struct BlockPacker {
  ThreadDecodeState decode;
  std::uint32_t thread = 0;
  EventBuffer pending;
  std::uint64_t packed_events = 0;  // spool events in blocks so far
  std::uint64_t first_chunk = 0;    // thread_chunk of the first pending event
  std::uint64_t last_chunk = 0;     // thread_chunk being decoded

  // Encodes the pending events; there must be at least one. The payload is valid until the encoder's next use.
  // `used_shapes` belongs to the trace.
  std::span<const std::uint8_t> pack(EventBlockEncoder& encoder, const Dictionary& dictionary,
                                     std::uint32_t& used_shapes) {
    return pack_front(encoder, dictionary, used_shapes, pending.size(), decode.spool_events);
  }
  // The first `count` of it. `spool_events`: of the thread, up to the last of these.
  std::span<const std::uint8_t> pack_front(EventBlockEncoder& encoder, const Dictionary& dictionary,
                                           std::uint32_t& used_shapes, std::size_t count, std::uint64_t spool_events);
};

}  // namespace tare::trace
