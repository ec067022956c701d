// The threads of one spool: their chunks in order, and the events that were decoded from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/drain/held_chunks.h"
#include "core/drain/live_spool.h"
#include "trace/base/result.h"
#include "trace/model/dictionary.h"
#include "trace/open/block_packer.h"
#include "trace/spool/spool_decoder.h"

namespace tare::core {

// One thread.
struct ThreadStream {
  struct Chunk {
    std::uint64_t serial;  // thread_chunk
    std::uint32_t index;
  };
  struct Held {  // a chunk
    std::uint32_t index;
    std::uint64_t spool_events;  // of the thread, up to its end
  };

  trace::BlockPacker packer;
  std::vector<Chunk> queue;  // seen, not yet decoded to their end; ascending
  std::vector<Held> held;    // decoded; returned when their events are in the file
  std::uint64_t next_serial = 0;
  bool in_chunk = false;  // queue.front() was begun
  bool damaged = false;   // the rest of queue.front() can't be decoded
  bool idle = false;      // wasn't inside a hook when its chunk was read
  bool over = false;      // ThreadEnd was its last event
  std::uint32_t tid = 0;  // in the process's own numbers, of its last chunk
  // Its last chunk ended inside a hook: until its next one is seen, older stamps than that one's may come. 0: no.
  std::uint64_t waits_since_ns = 0;
  std::uint64_t packed_stamp = 0;  // of its last event in the file

  // A hook drops its event if no chunk comes in a second, and then the thread may make none for long.
  bool is_waiting_for_chunk() const;
  // All its events with earlier stamps have been decoded. `settled`: of threads outside hooks.
  std::uint64_t watermark(std::uint64_t settled) const;
  // Of the pending events, those that a boundary there would leave before it.
  std::size_t events_before(std::uint64_t stamp, const trace::Dictionary& dictionary) const;
  // Of the first `count` pending events, those that a block of the file takes.
  std::size_t events_of_block(std::size_t count, const trace::Dictionary& dictionary) const;
  // Events of the thread up to the last of those, by the spool's count.
  std::uint64_t spool_events_until(std::size_t count, const trace::Dictionary& dictionary) const;
};

class ThreadStreams {
 public:
  // Both must outlive it.
  ThreadStreams(LiveSpool& spool, trace::Dictionary& dictionary);

  std::vector<ThreadStream>& all() { return streams_; }
  const std::vector<ThreadStream>& all() const { return streams_; }
  const HeldChunks& chunks() const { return chunks_; }

  // Puts new chunks into the queues of their threads.
  void find_chunks();

  // These are about the first chunk of a thread's queue. Returns the number of lost events before it.
  std::uint64_t begin_chunk(ThreadStream& stream);
  bool is_full(const ThreadStream& stream) const;
  struct Decoded {
    std::size_t events = 0;  // at the end of the pending ones
    trace::ChunkDamage damage;
    bool is_spool_cut = false;  // by another process: nothing was decoded
  };
  // Decodes what has been committed since.
  Result<Decoded> decode_chunk(ThreadStream& stream, bool is_full);
  // It was decoded to its end: keeps it, if it is full, until its events are in the file.
  void end_chunk(ThreadStream& stream, bool is_full);

  // So many events of the thread are in the file, by the spool's count.
  void mark_written(ThreadStream& stream, std::uint64_t spool_events);
  // Returns chunks to the program: those whose events are in the file, or all.
  void release_written();
  void discard_all();
  // Chunks that were in use at once since the last call.
  std::size_t take_most_in_use() { return chunks_.take_most_in_use(); }

  // The thread is inside a hook, or waits for a chunk inside of one.
  bool is_inside_hook(const ThreadStream& stream) const;
  std::uint32_t tid_of(const ThreadStream& stream) const;

  // The dictionary has other contents.
  void renew_decoder();
  const trace::FoldedCounts& folded() const { return decoder_->folded(); }

 private:
  const trace::ChunkControl& front(const ThreadStream& stream) const {
    return spool_.control(stream.queue.front().index);
  }

  LiveSpool& spool_;
  trace::Dictionary& dictionary_;
  std::unique_ptr<trace::SpoolDecoder> decoder_;
  std::vector<ThreadStream> streams_;  // by thread
  HeldChunks chunks_;
  std::vector<std::uint64_t> words_;  // of a chunk that can't be mapped
};

}  // namespace tare::core
