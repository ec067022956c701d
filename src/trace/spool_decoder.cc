// Raw words of a spool chunk to events: see spool_decoder.h, and spool_event.h for the layout.
#include "trace/spool_decoder.h"

#include <bit>

#include "trace/spool_event.h"

namespace tare::trace {

// Reads words and remembers having run out of them, so that an event needs one check instead of one a word.
struct SpoolDecoder::Cursor {
  const std::uint64_t* next;
  const std::uint64_t* end;
  bool ran_out = false;

  std::uint64_t take() {
    if (next == end) {
      ran_out = true;
      return 0;
    }
    return *next++;
  }
};

namespace {

constexpr ChunkDamage kNone{};
constexpr ChunkDamage kCutOff{"an event runs past the committed bytes"};

constexpr bool known(std::uint32_t known_apis, std::uint64_t code) { return (known_apis >> code & 1) != 0; }

std::uint64_t advance(std::uint64_t& last_stamp, std::uint64_t stamp) {
  if (stamp > last_stamp) last_stamp = stamp;
  return last_stamp;
}

}  // namespace

ChunkDamage SpoolDecoder::decode_frames(ThreadDecodeState& state, Cursor& at, std::uint64_t counts, StackId& stack) {
  const std::uint64_t kept = counts >> W0::kKeptShift & W0::kCountMask;
  const std::uint64_t fresh = counts >> W0::kFreshShift & W0::kCountMask;
  if (kept > state.path.size()) return {"a stack keeps more frames than the one before it had"};
  if (static_cast<std::uint64_t>(at.end - at.next) < (fresh + 1) / 2) return kCutOff;
  const std::uint64_t* words = at.next;
  at.next += (fresh + 1) / 2;
  state.path.resize(kept + fresh);
  StackId node = kept == 0 ? kEmptyStack : state.path[kept - 1];
  StackId* path = state.path.data() + kept;
  const std::uint64_t row_count = dictionary_.rows.size();
  for (std::uint64_t i = fresh; i-- > 0;) {  // stored innermost first
    const std::uint32_t row = static_cast<std::uint32_t>(words[i / 2] >> (i % 2 * 32));
    if (row >= row_count) {
      state.path.clear();
      return {"a return address has an id beyond the table"};
    }
    node = interner_.stack(node, RowId{row});
    *path++ = node;
  }
  stack = node;
  return kNone;
}

inline void SpoolDecoder::set_shape(Event& event, const Interner::ShapeWords& shape) {
  const std::uint64_t hash = Interner::hash(shape);
  interner_.prefetch_slot(hash);
  waiting_[waiting_count_++] = {shape, hash, &event};
  if (waiting_count_ == kBatch) resolve_shapes();
}

void SpoolDecoder::resolve_shapes() {
  const std::span<WaitingShape> waiting(waiting_.data(), waiting_count_);
  for (const WaitingShape& one : waiting) interner_.prefetch_shape(one.hash);
  for (const WaitingShape& one : waiting) one.event->shape = interner_.shape(one.shape, one.hash);
  waiting_count_ = 0;
}

ChunkDamage SpoolDecoder::decode_alloc(ThreadDecodeState& state, Cursor& at, std::uint64_t word0, Event*& out) {
  const std::uint64_t word1 = at.take();
  const std::uint64_t requested = at.take();
  const std::uint64_t usable =
      (word0 & W0::kUsableWord) != 0 ? at.take() : requested + (word0 >> W0::kSlopShift & W0::kSlopMask);
  const double weight = (word1 & W1::kWeighted) != 0 ? std::bit_cast<double>(at.take()) : 1.0;
  const bool realloc = op_of(word0) == Op::Realloc;
  std::uint64_t stamp = state.last_stamp, stamp_after = state.last_stamp;
  if ((word0 & W0::kStamped) != 0) {
    stamp = stamp_after = at.take();
    if (realloc) stamp_after = at.take();
  }
  const std::uint64_t old_address = realloc ? at.take() : 0;
  if (at.ran_out) return kCutOff;
  const std::uint64_t api = word1 >> W1::kApiShift & W1::kApiMask;
  if (!known(kKnownAllocApis, api)) return {"an allocation has an unknown entry point"};
  if (!(weight >= 1 && weight <= 1e18)) return {"an allocation has a weight below 1"};
  StackId stack = kEmptyStack;
  if (const ChunkDamage damage = decode_frames(state, at, word0, stack)) return damage;
  const Interner::ShapeWords shape =
      Interner::make_shape(stack, api, word1 >> W1::kAlignShift & W1::kAlignMask, 0, requested, usable, weight);
  if (realloc) {
    *out++ = {advance(state.last_stamp, stamp), old_address, kNoShape, state.thread, EventKind::ReallocEnd, 0};
  }
  *out++ = {advance(state.last_stamp, stamp_after),
            word1 & W1::kAddressMask,
            kNoShape,
            state.thread,
            realloc ? EventKind::ReallocStart : EventKind::Alloc,
            0};
  set_shape(out[-1], shape);
  return kNone;
}

ChunkDamage SpoolDecoder::decode_map(ThreadDecodeState& state, Cursor& at, std::uint64_t word0, Event*& out) {
  const std::uint64_t word1 = at.take();
  const std::uint64_t length = at.take();
  const std::uint64_t stamp = (word0 & W0::kStamped) != 0 ? at.take() : state.last_stamp;
  const std::uint64_t old_address = at.take();
  const std::uint64_t old_length = at.take();
  if (at.ran_out) return kCutOff;
  const std::uint64_t api = word1 >> W1::kApiShift & W1::kApiMask;
  if (!known(kKnownMapApis, api)) return {"a mapping has an unknown entry point"};
  StackId stack = kEmptyStack;
  if (const ChunkDamage damage = decode_frames(state, at, word0, stack)) return damage;
  const std::uint64_t time = advance(state.last_stamp, stamp);
  const auto add = [&](EventKind kind, std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return;
    *out = {time, address, kNoShape, state.thread, kind, 0};
    set_shape(*out++, Interner::make_shape(stack, api, 0, 1, bytes, bytes, 1));
  };
  add(EventKind::Unmap, old_address, old_length);
  add(EventKind::Map, word1 & W1::kAddressMask, length);
  return kNone;
}

ChunkDamage SpoolDecoder::decode_free(ThreadDecodeState& state, Cursor& at, std::uint64_t word0, Event*& out) {
  const std::uint64_t stamp = (word0 & F0::kStamped) != 0 ? at.take() : state.last_stamp;
  const std::uint64_t counts = (word0 & F0::kStack) != 0 ? at.take() : 0;
  if (at.ran_out) return kCutOff;
  const std::uint64_t api = word0 >> F0::kApiShift & F0::kApiMask;
  if (!known(kKnownFreeApis, api)) return {"a free has an unknown entry point"};
  ShapeId shape = kNoShape;
  if ((word0 & F0::kStack) != 0) {
    StackId stack = kEmptyStack;
    if (const ChunkDamage damage = decode_frames(state, at, counts, stack)) return damage;
    shape = ShapeId{index(stack)};
  }
  *out++ = {advance(state.last_stamp, stamp), word0 >> F0::kAddressShift, shape, state.thread, EventKind::Free,
            static_cast<std::uint8_t>(api)};
  return kNone;
}

ChunkDamage SpoolDecoder::decode(ThreadDecodeState& state, std::span<const std::uint64_t> words,
                                 EventBuffer& out_buffer) {
  // An event has more words than it makes Event records.
  Event* out = out_buffer.room(words.size());
  Cursor at{words.data(), words.data() + words.size()};
  while (at.next != at.end) {
    const std::uint64_t* const start = at.next;
    Event* const before = out;
    const std::uint64_t word0 = at.take();
    ChunkDamage damage;
    switch (op_of(word0)) {
      case Op::Alloc:
      case Op::Realloc:
        damage = decode_alloc(state, at, word0, out);
        break;
      case Op::Free:
        damage = decode_free(state, at, word0, out);
        break;
      case Op::Map:
        damage = decode_map(state, at, word0, out);
        break;
      case Op::ThreadStart:
      case Op::ThreadEnd:
      case Op::Fork:
      case Op::Exec:
      case Op::Dropped:
      case Op::Mark:
      case Op::Usable:
      case Op::Seen: {
        const std::uint64_t value = at.take();
        const std::uint64_t stamp = (word0 & N0::kStamped) != 0 ? at.take() : state.last_stamp;
        if (at.ran_out) {
          damage = kCutOff;
        } else {
          // EventKind's notes have the codes of Op's.
          *out++ = {advance(state.last_stamp, stamp),     value, kNoShape, state.thread,
                    static_cast<EventKind>(op_of(word0)), 0};
        }
        break;
      }
      case Op::Pad:
        damage = {"a zero word stands where an event should"};
        break;
      default:
        damage = {"an event has an unknown type"};
    }
    if (damage) {
      damage.word = state.words_done;
      resolve_shapes();
      out_buffer.set_end(before);
      return damage;
    }
    state.words_done += static_cast<std::uint64_t>(at.next - start);
    if (state.spool_events++ < state.skip_before) {
      resolve_shapes();  // the place of this event is used again
      out = before;
    }
  }
  resolve_shapes();
  out_buffer.set_end(out);
  return kNone;
}

static_assert(static_cast<int>(Op::ThreadStart) == static_cast<int>(EventKind::ThreadStart) &&
              static_cast<int>(Op::ThreadEnd) == static_cast<int>(EventKind::ThreadEnd) &&
              static_cast<int>(Op::Fork) == static_cast<int>(EventKind::Fork) &&
              static_cast<int>(Op::Exec) == static_cast<int>(EventKind::Exec) &&
              static_cast<int>(Op::Dropped) == static_cast<int>(EventKind::Dropped) &&
              static_cast<int>(Op::Mark) == static_cast<int>(EventKind::Mark) &&
              static_cast<int>(Op::Usable) == static_cast<int>(EventKind::Usable) &&
              static_cast<int>(Op::Seen) == static_cast<int>(EventKind::Seen));

}  // namespace tare::trace
