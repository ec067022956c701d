// Event blocks: some ten thousand events of one thread as columns of prediction misses, packed by zstd. FORMAT.md has
// the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/base/result.h"
#include "trace/file/event_model.h"
#include "trace/model/dictionary.h"
#include "trace/model/event.h"
#include "trace/model/event_buffer.h"

namespace tare::trace {

// The fields of a block before its columns. Ordinals count as the spool does: a realloc is one event.
struct BlockHeader {
  std::uint32_t thread = 0;
  std::uint64_t first_event = 0;   // events of this thread before the block
  std::uint64_t spool_events = 0;  // events of this thread in it
  std::uint64_t first_chunk = 0;   // thread_chunk where it begins ...
  std::uint64_t last_chunk = 0;    // ... and of the last chunk that it has events of
  std::uint32_t event_count = 0;   // of Event records, where a realloc is two
  std::uint64_t first_stamp = 0;
  std::uint64_t last_stamp = 0;
  std::uint64_t shape_count = 0;  // dictionary entries that it may refer to
  std::uint64_t stack_count = 0;
  std::uint64_t used_shapes = 0;  // shapes below were in blocks before this one
};

class EventBlockEncoder {
 public:
  EventBlockEncoder();
  ~EventBlockEncoder();

  // `events` are whole (a ReallocEnd is followed by its ReallocStart), at most kMaxBlockEvents, of one thread, their
  // shapes in `dictionary`. event_count, stamps, dictionary counts and used_shapes of `header` are filled in.
  // `used_shapes` belongs to the trace: 0 before its first block. Gives a payload, valid until the next call.
  std::span<const std::uint8_t> encode(BlockHeader& header, std::span<const Event> events, const Dictionary& dictionary,
                                       std::uint32_t& used_shapes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class EventBlockDecoder {
 public:
  EventBlockDecoder();
  ~EventBlockDecoder();

  // Reads only the header, not the columns. False: damaged.
  static bool read_header(std::span<const std::uint8_t> payload, BlockHeader& header);

  // Appends the events to `out`. Returns nullptr or the payload's error; then `out` is unchanged.
  const char* decode(std::span<const std::uint8_t> payload, const Dictionary& dictionary, EventBuffer& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tare::trace
