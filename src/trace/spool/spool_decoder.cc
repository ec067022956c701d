// Raw words of a spool chunk to events: see spool_decoder.h, and spool_event.h for the layout.
#include "trace/spool/spool_decoder.h"

#include <algorithm>
#include <bit>

#include "trace/model/content_digest.h"
#include "trace/model/spool_event_count.h"
#include "trace/spool/program_note.h"
#include "trace/spool/spool_event.h"

namespace tare::trace {

namespace {

constexpr ChunkDamage kNone{};
constexpr ChunkDamage kCutOff{"an event runs past the committed bytes"};

constexpr bool known(std::uint32_t known_apis, std::uint64_t code) { return (known_apis >> code & 1) != 0; }

constexpr std::uint64_t kept_in(std::uint64_t counts) { return counts >> W0::kKeptShift & W0::kCountMask; }
constexpr std::uint64_t fresh_in(std::uint64_t counts) { return counts >> W0::kFreshShift & W0::kCountMask; }
constexpr std::uint64_t row_words(std::uint64_t counts) { return (fresh_in(counts) + 1) / 2; }

}  // namespace

void SpoolDecoder::find_shape(Event& event, const Interner::ShapeWords& shape, SeenStacks::Key key) {
  const std::uint64_t hash = Interner::hash(shape);
  interner_.prefetch_slot(hash);
  waiting_[waiting_count_++] = {shape, hash, &event, key};
  if (waiting_count_ == kBatch) resolve_shapes();
}

void SpoolDecoder::resolve_shapes() {
  const std::span<WaitingShape> waiting(waiting_.data(), waiting_count_);
  for (const WaitingShape& one : waiting) interner_.prefetch_shape(one.hash);
  for (const WaitingShape& one : waiting) {
    const ShapeId id = interner_.shape(one.shape, one.hash);
    one.event->shape = id;
    if (one.key != 0) seen_.at(one.key) = {one.key, Interner::stack_of(one.shape), id};
  }
  waiting_count_ = 0;
}

// One walk over words, with everything that changes an event in registers.
class SpoolDecoder::Pass {
 public:
  Pass(SpoolDecoder& decoder, const ThreadDecodeState& state, std::span<const std::uint64_t> words, Event* out)
      : decoder_(decoder),
        next_(words.data()),
        end_(words.data() + words.size()),
        first_(out),
        out_(out),
        last_stamp_(state.last_stamp),
        stack_(state.stack),
        depth_(state.depth),
        cut_(state.cut),
        thread_(state.thread) {}

  bool at_end() const { return next_ == end_; }
  const std::uint64_t* position() const { return next_; }
  Event* out() const { return out_; }
  // Drops the events since `to`.
  void take_back(Event* to) {
    decoder_.resolve_shapes();  // their places are used again
    out_ = to;
  }
  void store(ThreadDecodeState& state) const {
    state.last_stamp = last_stamp_;
    state.stack = stack_;
    state.depth = depth_;
    state.cut = cut_;
  }

  // Reads one event; adds at most two at out(). Damaged: position() doesn't move.
  ChunkDamage decode() {
    const std::uint64_t word0 = *next_;
    switch (op_of(word0)) {
      case Op::Free:
        return decode_free(word0);
      case Op::Alloc:
      case Op::Realloc:
        return decode_alloc(word0);
      case Op::Map:
        return decode_map(word0);
      case Op::ThreadStart:
      case Op::ThreadEnd:
      case Op::Fork:
      case Op::Exec:
      case Op::Dropped:
      case Op::Mark:
      case Op::Usable:
      case Op::Seen:
      case Op::ClearReports:
      case Op::PoolShrink:
      case Op::PoolFree:
      case Op::PoolReset:
      case Op::PoolDestroy:
        return decode_note(word0);
      case Op::Holders:
        return decode_holders(word0);
      case Op::CallCost:
        return decode_cost(word0);
      case Op::Report:
      case Op::PoolCreate:
      case Op::Amount:
        return decode_named(word0);
      case Op::PoolGrow:
      case Op::PoolAlloc:
      case Op::ReportSite:
        return decode_pool(word0);
      case Op::FailedRequest:
        return decode_failed(word0);
      case Op::Contents:
        return decode_contents(word0);
      case Op::Pad:
        return {"a zero word stands where an event should"};
    }
    return {"an event has an unknown type"};
  }

 private:
  std::uint64_t left() const { return static_cast<std::uint64_t>(end_ - next_); }

  std::uint64_t advance(std::uint64_t stamp) {
    if (stamp > last_stamp_) last_stamp_ = stamp;
    return last_stamp_;
  }

  void add(std::uint64_t stamp, std::uint64_t address, ShapeId shape, EventKind kind, std::uint64_t api = 0) {
    *out_++ = {stamp, address, shape, thread_, kind, static_cast<std::uint8_t>(api)};
  }

  // Makes the stack described by `counts` (laid out like word 0) and `rows` the current one.
  ChunkDamage decode_frames(std::uint64_t counts, const std::uint64_t* rows) {
    const std::uint64_t kept = kept_in(counts);
    const std::uint64_t fresh = fresh_in(counts);
    if (kept > depth_) return {"a stack keeps more frames than the one before it had"};
    if (cut_ > 0) [[unlikely]] {  // those aren't in stack_
      const auto gone = static_cast<std::uint32_t>(std::min<std::uint64_t>(cut_, depth_ - kept));
      cut_ -= gone;
      depth_ -= gone;
    }
    for (; depth_ > kept; --depth_) stack_ = decoder_.dictionary_.stacks[index(stack_)].caller;
    const std::uint64_t row_count = decoder_.dictionary_.rows.size();
    for (std::uint64_t i = fresh; i-- > 0;) {  // stored innermost first
      const std::uint32_t row = static_cast<std::uint32_t>(rows[i / 2] >> (i % 2 * 32));
      if (row >= row_count) return {"a return address has an id beyond the table"};
      const StackId node = cut_ > 0 ? Interner::kNoStack : decoder_.interner_.stack(stack_, RowId{row});
      if (node == Interner::kNoStack) [[unlikely]]
        ++cut_;
      else
        stack_ = node;
    }
    depth_ += static_cast<std::uint32_t>(fresh);
    if (cut_ > 0) [[unlikely]]
      decoder_.interner_.count_cut_stack();
    return kNone;
  }

  ChunkDamage decode_alloc(std::uint64_t word0) {
    const bool realloc = op_of(word0) == Op::Realloc;
    const bool stamped = (word0 & W0::kStamped) != 0;
    if (left() < 3) return kCutOff;
    const std::uint64_t word1 = next_[1];
    const std::uint64_t requested = next_[2];
    const bool unusual = (word0 & W0::kUsableWord) != 0 || (word1 & W1::kWeighted) != 0;
    const std::uint64_t* at = next_ + 3;
    std::uint64_t usable = requested + (word0 >> W0::kSlopShift & W0::kSlopMask);
    double weight = 1;
    std::uint64_t words = row_words(word0) + (stamped ? 1u + realloc : 0u) + realloc;
    if (unusual) [[unlikely]]
      words += ((word0 & W0::kUsableWord) != 0) + ((word1 & W1::kWeighted) != 0);
    if (left() - 3 < words) return kCutOff;
    if (unusual) [[unlikely]] {
      if ((word0 & W0::kUsableWord) != 0) usable = *at++;
      if ((word1 & W1::kWeighted) != 0) weight = std::bit_cast<double>(*at++);
    }
    std::uint64_t stamp = last_stamp_;
    std::uint64_t stamp_after = last_stamp_;
    if (stamped) {
      stamp = stamp_after = *at++;
      if (realloc) stamp_after = *at++;
    }
    const std::uint64_t old_address = realloc ? *at++ : 0;
    const std::uint64_t* const rows = at;
    at += row_words(word0);

    const std::uint64_t api = word1 >> W1::kApiShift & W1::kApiMask;
    SeenStacks::Key key = SeenStacks::key(stack_, kept_in(word0), fresh_in(word0), {rows, at});
    const SeenStacks::Entry& seen = decoder_.seen_.at(key);
    ShapeId shape = kNoShape;
    const auto make_shape = [&] {
      return Interner::make_shape(stack_, api, word1 >> W1::kAlignShift & W1::kAlignMask, 0, requested, usable, weight);
    };
    Interner::ShapeWords new_shape;
    const bool is_seen = seen.key == key && cut_ == 0;  // a cut stack differs from its node's
    if (is_seen) [[likely]] {
      stack_ = seen.stack;
      depth_ = static_cast<std::uint32_t>(kept_in(word0) + fresh_in(word0));
      new_shape = make_shape();
      if (decoder_.interner_.is(seen.shape, new_shape)) shape = seen.shape;
    }
    if (shape == kNoShape) {
      if (!known(kKnownAllocApis, api)) return {"an allocation has an unknown entry point"};
      if (!(weight >= 1 && weight <= 1e18)) return {"an allocation has a weight below 1"};
      if (!is_seen) {
        if (const ChunkDamage damage = decode_frames(word0, rows)) return damage;
        new_shape = make_shape();
        if (cut_ > 0) [[unlikely]]
          key = 0;
      }
    }
    if (realloc) add(advance(stamp), old_address, kNoShape, EventKind::ReallocEnd);
    add(advance(stamp_after), word1 & W1::kAddressMask, shape, realloc ? EventKind::ReallocStart : EventKind::Alloc);
    if (shape == kNoShape) decoder_.find_shape(out_[-1], new_shape, key);
    next_ = at;
    return kNone;
  }

  ChunkDamage decode_free(std::uint64_t word0) {
    std::uint64_t stamp = last_stamp_;
    ShapeId shape = kNoShape;
    const std::uint64_t api = word0 >> F0::kApiShift & F0::kApiMask;
    const std::uint64_t* at = next_ + 1;
    if ((word0 & (F0::kStamped | F0::kStack)) != 0) {
      if (left() < 1u + ((word0 & F0::kStamped) != 0) + ((word0 & F0::kStack) != 0)) return kCutOff;
      if ((word0 & F0::kStamped) != 0) stamp = *at++;
    }
    if (!known(kKnownFreeApis, api)) return {"a free has an unknown entry point"};
    if ((word0 & F0::kStack) != 0) {
      const std::uint64_t counts = *at++;
      if (static_cast<std::uint64_t>(end_ - at) < row_words(counts)) return kCutOff;
      if (const ChunkDamage damage = decode_frames(counts, at)) return damage;
      at += row_words(counts);
      shape = ShapeId{index(stack_)};
    }
    add(advance(stamp), word0 >> F0::kAddressShift, shape, EventKind::Free, api);
    next_ = at;
    return kNone;
  }

  ChunkDamage decode_map(std::uint64_t word0) {
    const bool stamped = (word0 & W0::kStamped) != 0;
    const bool twice = stamped && (word0 & W0::kStampBefore) != 0;
    const std::uint64_t fixed_words = 5u + stamped + twice;
    if (left() < fixed_words + row_words(word0)) return kCutOff;
    const std::uint64_t word1 = next_[1];
    const std::uint64_t length = next_[2];
    const std::uint64_t before = stamped ? next_[3] : last_stamp_;
    const std::uint64_t stamp = twice ? next_[4] : before;
    const std::uint64_t old_address = next_[fixed_words - 2];
    const std::uint64_t old_length = next_[fixed_words - 1];
    const std::uint64_t api = word1 >> W1::kApiShift & W1::kApiMask;
    if (!known(kKnownMapApis, api)) return {"a mapping has an unknown entry point"};
    if (const ChunkDamage damage = decode_frames(word0, next_ + fixed_words)) return damage;
    const auto add_range = [&](std::uint64_t time, EventKind kind, std::uint64_t address, std::uint64_t bytes) {
      if (bytes == 0) return;
      add(advance(time), address, kNoShape, kind);
      decoder_.find_shape(out_[-1], Interner::make_shape(stack_, api, 0, 1, bytes, bytes, 1), 0);
    };
    add_range(before, EventKind::Unmap, old_address, old_length);
    add_range(stamp, EventKind::Map, word1 & W1::kAddressMask, length);
    next_ += fixed_words + row_words(word0);
    return kNone;
  }

  ChunkDamage decode_note(std::uint64_t word0) {
    const bool stamped = (word0 & N0::kStamped) != 0;
    if (left() < 2u + stamped) return kCutOff;
    // EventKind's notes have the codes of Op's.
    add(advance(stamped ? next_[2] : last_stamp_), next_[1], kNoShape, static_cast<EventKind>(op_of(word0)));
    next_ += 2 + stamped;
    return kNone;
  }

  ChunkDamage decode_named(std::uint64_t word0) {
    if (const ChunkDamage damage = decode_note(word0)) return damage;
    out_[-1].shape = ShapeId{index(decoder_.names_.find(NamedWord::name(word0)))};
    out_[-1].api = (word0 & NamedWord::kOnAlloc) != 0;
    return kNone;
  }

  ChunkDamage decode_holders(std::uint64_t word0) {
    if (const ChunkDamage damage = decode_note(word0)) return damage;
    out_[-1].api = (word0 & kSeveralHolders) != 0;
    return kNone;
  }

  // Its call may be in a chunk before this one, or lost: then it has none.
  ChunkDamage decode_cost(std::uint64_t word0) {
    if ((word0 & kCostOfFree) != 0) {
      const ChunkDamage damage = decode_note(word0);
      if (!damage) out_[-1].api = 1;
      return damage;
    }
    const bool follows = out_ != first_ && begins_block(out_[-1].kind);
    if (follows) decoder_.resolve_shapes();
    const ShapeId shape = follows ? out_[-1].shape : kNoShape;
    if (const ChunkDamage damage = decode_note(word0)) return damage;
    out_[-1].shape = shape;
    return kNone;
  }

  ChunkDamage decode_contents(std::uint64_t word0) {
    const bool stamped = (word0 & N0::kStamped) != 0;
    if (left() < 3u + stamped) return kCutOff;
    // In an event block, 0 stands for the address of the block that ends next.
    if (next_[1] == 0) return {"a note says what the block at address zero held"};
    const std::uint64_t unwritten = std::min<std::uint64_t>(
        word0 >> ContentsWord::kUnwrittenShift & ContentsWord::kUnwrittenMask, kMostUnwrittenBytes);
    const std::uint64_t content_class = word0 >> ContentsWord::kClassShift & ContentsWord::kClassMask;
    const bool is_new = (word0 & ContentsWord::kNew) != 0;
    const std::uint64_t stamp = advance(stamped ? next_[3] : last_stamp_);
    if (is_new) {
      add(stamp, short_digest(next_[2]), kNoShape, EventKind::NewDigest,
          content_class | (unwritten != 0 ? kDigestOfNote : 0));
    }
    if (!is_new || unwritten != 0) {
      add(stamp, next_[1], ShapeId{static_cast<std::uint32_t>(unwritten)}, EventKind::Contents, content_class);
      if (!is_new && next_[2] != 0) add(stamp, next_[2] & kDigestMask, kNoShape, EventKind::Digest);
    }
    next_ += 3 + stamped;
    return kNone;
  }

  ChunkDamage decode_pool(std::uint64_t word0) {
    const bool stamped = (word0 & W0::kStamped) != 0;
    const std::uint64_t fixed_words = 3u + stamped;
    if (left() < fixed_words + row_words(word0)) return kCutOff;
    const std::uint64_t word1 = next_[1];
    const std::uint64_t bytes = next_[2];
    const std::uint64_t stamp = stamped ? next_[3] : last_stamp_;
    if (const ChunkDamage damage = decode_frames(word0, next_ + fixed_words)) return damage;
    const MapApi api = op_of(word0) == Op::PoolAlloc    ? MapApi::PoolBlock
                       : op_of(word0) == Op::ReportSite ? MapApi::ReportSite
                                                        : MapApi::PoolMemory;
    add(advance(stamp), word1, kNoShape, static_cast<EventKind>(op_of(word0)));
    decoder_.find_shape(out_[-1], Interner::make_shape(stack_, static_cast<std::uint64_t>(api), 0, 1, bytes, bytes, 1),
                        0);
    next_ += fixed_words + row_words(word0);
    return kNone;
  }

  ChunkDamage decode_failed(std::uint64_t word0) {
    const bool stamped = (word0 & W0::kStamped) != 0;
    const std::uint64_t fixed_words = 3u + stamped;
    if (left() < fixed_words + row_words(word0)) return kCutOff;
    const std::uint64_t word1 = next_[1];
    const std::uint64_t requested = next_[2];
    const std::uint64_t stamp = stamped ? next_[3] : last_stamp_;
    const std::uint64_t api = word1 >> W1::kApiShift & W1::kApiMask;
    if (!known(kKnownAllocApis, api)) return {"a failed request has an unknown entry point"};
    if (const ChunkDamage damage = decode_frames(word0, next_ + fixed_words)) return damage;
    add(advance(stamp), 0, kNoShape, EventKind::FailedRequest, api);
    // Readers without this kind know no other shape that isn't a block's.
    constexpr auto kApi = static_cast<std::uint64_t>(MapApi::ReportSite);
    const std::uint64_t align = word1 >> W1::kAlignShift & W1::kAlignMask;
    decoder_.find_shape(out_[-1], Interner::make_shape(stack_, kApi, align, 1, requested, requested, 1), 0);
    next_ += fixed_words + row_words(word0);
    return kNone;
  }

  SpoolDecoder& decoder_;
  const std::uint64_t* next_;
  const std::uint64_t* end_;
  Event* first_;
  Event* out_;
  std::uint64_t last_stamp_;
  StackId stack_;
  std::uint32_t depth_;
  std::uint32_t cut_;
  std::uint16_t thread_;
};

ChunkDamage SpoolDecoder::decode(ThreadDecodeState& state, std::span<const std::uint64_t> words,
                                 EventBuffer& out_buffer) {
  interner_.fit();
  seen_.fit(dictionary_.stacks.size());
  // An event has more words than it makes Event records.
  Pass pass(*this, state, words, out_buffer.room(words.size()));
  std::uint64_t events = state.spool_events;
  ChunkDamage damage;
  while (!pass.at_end()) {
    Event* const before = pass.out();
    damage = pass.decode();
    if (damage) [[unlikely]] {
      damage.word = state.words_done + static_cast<std::uint64_t>(pass.position() - words.data());
      break;
    }
    if (events++ < state.skip_before) [[unlikely]]
      pass.take_back(before);
  }
  resolve_shapes();
  out_buffer.set_end(pass.out());
  pass.store(state);
  state.spool_events = events;
  state.words_done += static_cast<std::uint64_t>(pass.position() - words.data());
  return damage;
}

static_assert(static_cast<int>(Op::ThreadStart) == static_cast<int>(EventKind::ThreadStart) &&
              static_cast<int>(Op::ThreadEnd) == static_cast<int>(EventKind::ThreadEnd) &&
              static_cast<int>(Op::Fork) == static_cast<int>(EventKind::Fork) &&
              static_cast<int>(Op::Exec) == static_cast<int>(EventKind::Exec) &&
              static_cast<int>(Op::Dropped) == static_cast<int>(EventKind::Dropped) &&
              static_cast<int>(Op::Mark) == static_cast<int>(EventKind::Mark) &&
              static_cast<int>(Op::Usable) == static_cast<int>(EventKind::Usable) &&
              static_cast<int>(Op::Report) == static_cast<int>(EventKind::Report) &&
              static_cast<int>(Op::PoolDestroy) == static_cast<int>(EventKind::PoolDestroy) &&
              static_cast<int>(Op::Seen) == static_cast<int>(EventKind::Seen) &&
              static_cast<int>(Op::Contents) == static_cast<int>(EventKind::Contents) &&
              static_cast<int>(Op::ReportSite) == static_cast<int>(EventKind::ReportSite) &&
              static_cast<int>(Op::CallCost) == static_cast<int>(EventKind::CallCost) &&
              static_cast<int>(Op::Holders) == static_cast<int>(EventKind::Holders) &&
              static_cast<int>(Op::Amount) == static_cast<int>(EventKind::Amount));

}  // namespace tare::trace
