// Raw words of a spool chunk to events with interned stacks and shapes. The words are untrusted: a recorded program can
// write over them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "trace/base/result.h"
#include "trace/model/event.h"
#include "trace/model/event_buffer.h"
#include "trace/model/interner.h"
#include "trace/model/seen_stacks.h"
#include "trace/spool/name_interner.h"

namespace tare::trace {

// Where decoding of one thread's stream stands. Chunks must be given in thread_chunk order.
struct ThreadDecodeState {
  std::uint16_t thread = 0;        // as events carry it
  std::uint64_t last_stamp = 0;    // stamps never go back within a thread
  std::uint64_t words_done = 0;    // of the current chunk
  std::uint64_t spool_events = 0;  // events so far, as the spool counts them: a realloc is one
  std::uint64_t skip_before = 0;   // events with smaller ordinals are already known: read, but not handed out
  StackId stack = kEmptyStack;     // the one before ...
  std::uint32_t depth = 0;         // ... and how many frames it has,
  std::uint32_t cut = 0;           // of which so many innermost aren't in `stack`: the dictionary is full

  void open_chunk(std::uint64_t first_event, std::uint64_t open_stamp) {
    words_done = 0;
    stack = kEmptyStack;
    depth = 0;
    cut = 0;
    spool_events = first_event;
    if (open_stamp > last_stamp) last_stamp = open_stamp;
  }
};

// The damage of a chunk, and the index of its word.
struct ChunkDamage {
  const char* what = nullptr;  // nullptr: nothing
  std::uint64_t word = 0;
  explicit operator bool() const { return what != nullptr; }
};

class SpoolDecoder {
 public:
  // `names` resolves names from the program; without it names are unknown.
  explicit SpoolDecoder(Dictionary& dictionary, NameSource names = {}, const DictionaryCeiling& ceiling = {})
      : dictionary_(dictionary), interner_(dictionary, ceiling), names_(dictionary, std::move(names)) {}

  const FoldedCounts& folded() const { return interner_.folded(); }

  // Decodes the words that follow the first state.words_done of the chunk, whole events only, and appends to `out`.
  // Rows up to the ones used must be in the dictionary. After damage, events before it were appended and the rest of
  // the chunk can't be read: skip it. `words` may lie in the program's memory: concurrent writes change the events, and
  // do no other harm.
  ChunkDamage decode(ThreadDecodeState& state, std::span<const std::uint64_t> words, EventBuffer& out);

 private:
  class Pass;

  // If a program's sizes vary, each shape is one of millions. Single look-ups cost two cache misses each; in batches
  // these overlap (102 -> 64 ns an event on the two-thread stress).
  struct WaitingShape {
    Interner::ShapeWords shape;
    std::uint64_t hash;
    Event* event;
    SeenStacks::Key key;  // 0: not to be remembered
  };
  static constexpr std::size_t kBatch = 32;

  void find_shape(Event& event, const Interner::ShapeWords& shape, SeenStacks::Key key);
  // Finds the ids of the shapes that wait for theirs.
  void resolve_shapes();

  Dictionary& dictionary_;
  Interner interner_;
  NameInterner names_;
  SeenStacks seen_;
  std::array<WaitingShape, kBatch> waiting_;
  std::size_t waiting_count_ = 0;
};

}  // namespace tare::trace
