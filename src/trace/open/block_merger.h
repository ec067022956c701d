// All blocks of a trace to one stream in global order, with one decoded block a thread in memory, and only of threads
// alive at that point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "trace/base/merge_heap.h"
#include "trace/base/result.h"
#include "trace/file/event_block.h"
#include "trace/model/event_sink.h"
#include "trace/open/open_trace.h"

namespace tare::trace {

class BlockMerger {
 public:
  // Appends the events of block number `block` (in the order of add()) to `out`.
  using ReadBlock = std::function<Status(std::size_t block, EventBlockDecoder& decoder, EventBuffer& out)>;
  // Called before each block and after at least 16,384 merged events. An error ends the merge.
  using Check = std::function<Status()>;

  explicit BlockMerger(ReadBlock read, Check check = {}) : read_(std::move(read)), check_(std::move(check)) {}

  // Blocks of one thread must come in their order.
  void add(const BlockHeader& header);
  // A block's error ends the merge, after all events before that block in global order were passed on.
  Status run(EventSink& sink, const ReplayProgress& progress);

 private:
  struct Stream {                                               // one thread
    std::vector<std::pair<std::size_t, std::uint64_t>> blocks;  // number and first stamp
    std::size_t next_block = 0;
    EventBuffer events;
    std::size_t at = 0;
  };
  Status load(Stream& stream);

  ReadBlock read_;
  Check check_;
  std::vector<Stream> streams_;
  std::map<std::uint32_t, std::uint32_t> stream_of_thread_;
  std::size_t blocks_ = 0;
  std::uint64_t total_events_ = 0;
  EventBlockDecoder decoder_;
};

}  // namespace tare::trace
