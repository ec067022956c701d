// The recorder's state of one thread. Lives in a block of its own mmap, never in TLS: a dead thread's TLS is handed to
// the next one, and a list through it would loop. TLS holds one pointer.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/base/attributes.h"
#include "recorder/events/sampling.h"
#include "recorder/unwind/unwind.h"
#include "trace/model/ids.h"
#include "trace/spool/spool_layout.h"

namespace tare::recorder {

// The state of this thread inside the recorder; any value but Ready sends a hook to its slow path.
enum class Gate : std::uint32_t {
  Ready = 0,
  InHook = 1,      // an event is being made: another hook now is a signal handler's (or the real function's own)
  Suppressed = 2,  // inside another allocator's operator new or delete: calls inside are part of that event
  Stale = 3,       // outside; its chunk is one of an earlier recording, see Recorder::renew()
};

// Reasons for leave() to look closer.
enum Attention : std::uint32_t {
  kPendingEvents = 1,  // nested events wait to be written
  kLeaving = 2,        // the thread's destructors have run: keep no chunk open
  kTimed = 4,          // its last call of the allocator was timed
  kStale = 8,          // a recording began meanwhile
  kInterrupted = 16,   // `interrupted_sp` is set
  kWatched = 32,       // its events go to the watch file
};

constexpr std::uint64_t kNoFrame = 0;  // as outer_sp: the hook goes on, but its frame isn't known

// Events from signal handlers that interrupted a hook. Mapped at the first one.
struct Nested {
  static constexpr std::uint32_t kWords = 16
                                          << 10;  // four chunk-fulls... of the deepest stacks; some 1,000 usual events
  std::atomic<std::uint32_t> used;                // words of `words` in use
  std::atomic<std::uint32_t> busy;                // a handler interrupted by another handler inside its hook
  std::uint32_t written;                          // words of `words` that lie in the chunk already
  bool is_being_written;
  std::uint64_t words[kWords];  // per event: length and stamp positions, then the event as it will be written
  Unwinder unwinder;

  void clear() {
    used.store(0, std::memory_order_relaxed);
    written = 0;
    is_being_written = false;
  }
};

struct alignas(64) Thread {
  // hot: one cache line
  std::atomic<Gate> gate;
  std::atomic<std::uint32_t> attention;
  std::uint64_t* cursor;  // where the next event goes; null: no chunk
  std::uint64_t* end;     // of the chunk
  std::uint64_t* begin;
  trace::ChunkControl* control;  // of the chunk, or `idle_control`
  std::uint64_t events;          // written so far, notes included
  std::uint64_t newest_block;    // address of the last recorded block, for an operator new around it
  std::uint64_t gap_start;       // last stamp written while single-threaded; 0: the next event is stamped in any case

  std::uint64_t outer_sp;  // StartState of the hook under way, to detect a hook that was left by longjmp; or kNoFrame
  std::uint64_t outer_return;
  std::uint64_t newest_stamp;  // of all written
  std::uint32_t epoch;         // counts hooks that were left; a hook that finds it changed writes nothing
  std::uint32_t suppressed_depth;

  std::uint32_t chunk;      // index of the open chunk, or kNoChunk
  std::uint32_t id;         // trace::ThreadId
  std::uint32_t recording;  // Recorder::recording_ that all of this is about
  int tid;
  std::uint32_t exit_rounds;      // times the key destructor has run
  std::uint64_t next_chunk;       // serial of the next chunk
  std::uint64_t dropped;          // events lost since the last one written
  std::uint64_t fork_stamp;       // taken by the fork hook just before the real fork
  std::uint64_t last_life_check;  // monotonic ns
  std::uint64_t foreign_sp;       // of the call of a foreign allocator under way; 0: none. See foreign_call.h
  std::uint64_t foreign_return;   // its return address
  std::uint64_t nested_block;     // the last block that malloc gave that allocator meanwhile
  std::uint64_t nested_bytes;     // and how many bytes that allocator requested
  std::uint64_t timed_block;      // see call_timer.h
  std::uint64_t timed_ticks;
  // The same where a signal interrupted enter(): that goes on after the handler, and stores what it had read before
  // into one or both of the fields above. 0: none.
  std::uint64_t interrupted_sp;
  std::uint64_t interrupted_return;
  bool said_start;  // ThreadStart is written
  bool borrowed;    // made in the child of a vfork, which runs on its parent's thread, or in a fork's parent: `tid` is
                    // nobody's
  bool alive;       // belongs to a thread (dead blocks are used again)
  bool ended;       // between two events: the next thread that has this block goes on with its number
  Thread* next;     // all blocks, for ever
  Nested* nested;
  std::uint64_t* watched_words;      // in a watched process, in place of a chunk: the events of the hook under way
  trace::ChunkControl idle_control;  // written to instead of a chunk's when there's none

  SamplingState sampling;

  Unwinder unwinder;
};

// __thread: known to need no initialisation, so that every access is one load.
extern __thread Thread* this_thread __attribute__((tls_model("initial-exec")));

}  // namespace tare::recorder
