// Gathers one thread's decoded events into blocks of a good size. Used while draining and when a spool is opened by
// itself.
#pragma once

#include <cstdint>
#include <span>

#include "trace/event_block.h"
#include "trace/event_buffer.h"
#include "trace/spool_decoder.h"

namespace tare::trace {

// Enough for the guesses of a block to settle; a thread's pending events then take 1.6 MB.
inline constexpr std::size_t kBlockEvents = 64 << 10;

struct BlockPacker {
  ThreadDecodeState decode;
  std::uint32_t thread = 0;
  EventBuffer pending;
  std::uint64_t packed_events = 0;  // spool events in blocks so far
  std::uint64_t first_chunk = 0;    // thread_chunk of the first pending event
  std::uint64_t last_chunk = 0;     // thread_chunk being decoded

  // Encodes what is pending; call with at least one event. The payload is valid until the encoder's next use.
  // `used_shapes` belongs to the trace.
  std::span<const std::uint8_t> pack(EventBlockEncoder& encoder, const Dictionary& dictionary,
                                     std::uint32_t& used_shapes);
};

}  // namespace tare::trace
