// Writes event blocks: see event_block.h.
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "trace/base/byte_stream.h"
#include "trace/file/event_block.h"
#include "trace/file/event_columns.h"
#include "trace/file/event_model.h"

namespace tare::trace {

namespace {

constexpr int kZstdLevel = 1;
// Codes repeat in long rows or not at all: shorter matches than the level's 6 bytes or 7 take more room and time.
constexpr int kZstdShortestMatch = 7;
constexpr std::size_t kAhead = 12;           // events ahead whose model entries are prefetched
constexpr std::size_t kSmallestPacked = 48;  // below, a zstd frame's own bytes eat the gain

// Where the address of a block allocated in this event block is found again when it is freed. Direct-mapped by address,
// so that neighbours don't collide; an overwritten entry only costs a longer code. Entries of earlier event blocks
// stay: where one names a block that has the address now, it's the right one.
class BirthIndex {
 public:
  static constexpr std::uint32_t kDead = 1u << 31;  // of a block that has ended since
  std::uint32_t& at(std::uint64_t address) { return blocks_[(address >> 4 ^ address >> 20) & (kSlots - 1)]; }

 private:
  static constexpr std::size_t kSlots = 1 << 16;
  std::vector<std::uint32_t> blocks_ = std::vector<std::uint32_t>(kSlots, AddressModel::kNoBlock);
};

// A column being written. Every event adds at most kMostBytes to one, so it never checks for room.
class ColumnBuffer {
 public:
  static constexpr std::size_t kMostBytes = 2 * kMaxVarintBytes + 4;
  void reset(std::size_t events) {
    const std::size_t bytes = (events + 1) * kMostBytes;
    if (bytes > capacity_) {
      capacity_ = bytes;
      data_ = std::make_unique_for_overwrite<std::uint8_t[]>(capacity_);
    }
    end_ = data_.get();
  }
  std::uint8_t* end() const { return end_; }
  void set_end(std::uint8_t* end) { end_ = end; }
  std::span<const std::uint8_t> bytes() const { return {data_.get(), static_cast<std::size_t>(end_ - data_.get())}; }

 private:
  std::unique_ptr<std::uint8_t[]> data_;
  std::uint8_t* end_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace

struct EventBlockEncoder::State {
  class Pass;

  std::array<ColumnBuffer, kColumns> columns;
  SymbolModel symbols;
  AddressModel addresses;
  BirthIndex births;
  std::vector<std::uint32_t> free_stacks;
  std::uint32_t used_shapes = 0;
  ByteWriter payload;
  std::vector<std::uint8_t> packed;
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  State() {
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, kZstdShortestMatch);
  }
  ~State() { ZSTD_freeCCtx(zstd); }

  void put_columns(std::span<const Event> events, const Dictionary& dictionary, std::uint64_t first_stamp,
                   std::uint64_t flags);
  void pack();
};

EventBlockEncoder::EventBlockEncoder() : state_(std::make_unique<State>()) {}
EventBlockEncoder::~EventBlockEncoder() = default;

namespace {

// A Contents note of the block that the next event ends: its address is that event's.
bool is_about_next_end(std::span<const Event> events, std::size_t at) {
  if (events[at].kind != EventKind::Contents) return false;
  const std::size_t end = next_after_contents(events, at);
  return end < events.size() && ends_block(events[end].kind) && events[end].address == events[at].address;
}

}  // namespace

// One walk over a block's events, with the ends of the columns in registers: the compiler must assume that a byte
// written to a column changes any variable in memory.
class EventBlockEncoder::State::Pass {
 public:
  Pass(State& state, std::uint64_t first_stamp) : state_(state), last_stamp_(first_stamp) {
    for (int i = 0; i < kColumns; ++i) ends_[i] = state.columns[i].end();
  }
  void finish() {
    for (int i = 0; i < kColumns; ++i) state_.columns[i].set_end(ends_[i]);
  }

  [[gnu::always_inline]] void byte(Column column, std::uint64_t value) {
    *ends_[static_cast<std::size_t>(column)]++ = static_cast<std::uint8_t>(value);
  }
  [[gnu::always_inline]] void varint(Column column, std::uint64_t value) {
    std::uint8_t*& end = ends_[static_cast<std::size_t>(column)];
    end = put_varint(end, value);
  }
  [[gnu::always_inline]] void distance(Column column, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t key = distance_key(from, to);
    varint(column, key);
    if ((key & 1) != 0) byte(column, (to - from) & 15);
  }

  [[gnu::always_inline]] void put_stamp(std::uint64_t stamp) {
    const std::uint64_t step = stamp - last_stamp_;
    last_stamp_ = stamp;
    if (step < kStampEscape) {
      byte(Column::StampSteps, step);
    } else {
      byte(Column::StampSteps, kStampEscape);
      varint(Column::StampRests, step - kStampEscape);
    }
  }

  // Gives its code.
  [[gnu::always_inline]] std::uint8_t put_symbol(Symbol symbol) {
    const int guess = state_.symbols.find(symbol);
    const std::uint8_t code =
        guess == SymbolModel::kGuesses ? put_new_symbol(symbol) : static_cast<std::uint8_t>(guess);
    state_.symbols.move_to_front(symbol);
    return code;
  }
  [[gnu::always_inline]] void code(std::uint8_t symbol_code, std::uint8_t place_code) {
    byte(Column::EventCodes, event_code(symbol_code, place_code));
  }

  // Gives the code of the place.
  [[gnu::always_inline]] std::uint8_t put_alloc(std::uint64_t address, ShapeId shape, const Shape* shapes) {
    AddressModel& model = state_.addresses;
    const std::uint64_t usable = shapes[index(shape)].usable_bytes;
    const std::uint64_t base = model.alloc_base();
    const std::uint32_t now = model.block_count();
    std::uint32_t& birth = state_.births.at(address);
    const std::uint32_t last = birth & ~BirthIndex::kDead;
    const std::uint32_t before = last < now && model.address_of(last) == address ? last : AddressModel::kNoBlock;
    birth = now;
    const std::uint8_t code = model.allocated(usable, address, before, shape);
    if (code == AddressModel::kAllocAgain) varint(Column::AllocValues, now - before);
    if (code == AddressModel::kAllocOther) distance(Column::AllocValues, base, address);
    return code;
  }

  struct Release {
    std::uint8_t code;
    std::uint32_t token;  // for the history
  };
  [[gnu::always_inline]] Release put_release(std::uint64_t address, Symbol symbol) {
    AddressModel& model = state_.addresses;
    std::uint32_t& birth = state_.births.at(address);
    const std::uint32_t block = birth;
    if (block >= model.block_count() || model.address_of(block) != address) {
      distance(Column::FreeValues, model.foreign_base(), address);
      model.freed_foreign(address);
      return {kFreeForeign, symbol};
    }
    birth = block | BirthIndex::kDead;
    const std::size_t context = state_.symbols.context();
    const std::uint8_t code = model.find_free(block, context);
    if (code == AddressModel::kFreeOther) varint(Column::FreeValues, model.block_count() - block);
    model.freed(block, context);
    return {code, ~shape_symbol(model.shape_of(block), ShapeUse::Alloc)};
  }

 private:
  std::uint8_t put_new_symbol(Symbol symbol) {
    std::uint32_t& used = state_.used_shapes;
    if (symbol == static_cast<Symbol>(FreeApi::Free)) return kSymbolFree;
    if (symbol < kFirstShapeSymbol) {
      varint(Column::SymbolValues, symbol);
      return kSymbolOtherFree;
    }
    const std::uint32_t shape = index(shape_of(symbol));
    const bool is_next = symbol == shape_symbol(ShapeId{used}, ShapeUse::Alloc);
    if (!is_next) {
      varint(Column::SymbolValues,
             zigzag(static_cast<std::int64_t>(used) - shape) * 4 + static_cast<std::uint32_t>(use_of(symbol)));
    }
    // A symbol that was guessed was used before.
    used = std::max(used, shape + 1);
    return is_next ? kSymbolNewAlloc : kSymbolShape;
  }

  State& state_;
  std::array<std::uint8_t*, kColumns> ends_;
  std::uint64_t last_stamp_;
};

void EventBlockEncoder::State::put_columns(std::span<const Event> events, const Dictionary& dictionary,
                                           std::uint64_t first_stamp, std::uint64_t flags) {
  Pass pass(*this, first_stamp);
  const Shape* const shapes = dictionary.shapes.data();
  const std::size_t shape_count = dictionary.shapes.size();
  std::uint64_t last_map = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const Event& ahead = events[std::min(i + kAhead, events.size() - 1)];
    __builtin_prefetch(&births.at(ahead.address));
    // of notes it is other numbers, and of most frees kNoShape
    __builtin_prefetch(shapes + (index(ahead.shape) < shape_count ? index(ahead.shape) : 0));
    pass.put_stamp(event.stamp);
    switch (event.kind) {
      case EventKind::Alloc: {
        const Symbol symbol = shape_symbol(event.shape, ShapeUse::Alloc);
        const std::uint8_t code = pass.put_symbol(symbol);
        pass.code(code, pass.put_alloc(event.address, event.shape, shapes));
        symbols.remember(symbol);
        break;
      }
      case EventKind::ReallocEnd: {
        const Event& start = events[++i];
        const Symbol symbol = shape_symbol(start.shape, ShapeUse::Realloc);
        const std::uint8_t code = pass.put_symbol(symbol);
        pass.code(code, pass.put_release(event.address, symbol).code);
        pass.put_stamp(start.stamp);
        pass.code(0, pass.put_alloc(start.address, start.shape, shapes));
        symbols.remember(symbol);
        break;
      }
      case EventKind::Free: {
        const Symbol symbol = event.api;
        const std::uint8_t code = pass.put_symbol(symbol);
        if ((flags & kBlockFreeStacks) != 0) [[unlikely]] {
          std::uint32_t& guess = free_stacks[symbols.context()];
          const std::uint32_t stack = index(event.shape) + 1;  // kNoShape gives 0
          pass.varint(Column::FreeStacks, zigzag(static_cast<std::int64_t>(stack) - guess));
          guess = stack;
        }
        const Pass::Release release = pass.put_release(event.address, symbol);
        pass.code(code, release.code);
        symbols.remember(release.token);
        break;
      }
      case EventKind::Map:
      case EventKind::Unmap: {
        const ShapeUse use = event.kind == EventKind::Map ? ShapeUse::Map : ShapeUse::Unmap;
        pass.code(pass.put_symbol(shape_symbol(event.shape, use)), 0);
        pass.distance(Column::MapAddresses, last_map, event.address);
        last_map = event.address;
        break;
      }
      default:
        pass.code(kSymbolNote, 0);
        pass.byte(Column::Notes, static_cast<std::uint8_t>(event.kind));
        pass.byte(Column::Notes, event.api);
        pass.varint(Column::Notes, is_about_next_end(events, i) ? 0 : event.address);
        pass.varint(Column::Notes, std::uint64_t{index(event.shape) + 1});
        break;
    }
  }
  pass.finish();
}

void EventBlockEncoder::State::pack() {
  payload.varint(kColumns);
  std::size_t room = 0;
  for (const ColumnBuffer& buffer : columns) room += ZSTD_compressBound(buffer.bytes().size());
  if (packed.size() < room) packed.resize(room);
  std::size_t end = 0;
  for (const ColumnBuffer& buffer : columns) {
    const std::span<const std::uint8_t> raw = buffer.bytes();
    std::size_t size = raw.size();
    if (raw.size() >= kSmallestPacked)
      size = ZSTD_compress2(zstd, packed.data() + end, packed.size() - end, raw.data(), raw.size());
    if (raw.size() < kSmallestPacked || ZSTD_isError(size) != 0 || size >= raw.size()) {
      size = raw.size();
      std::copy(raw.begin(), raw.end(), packed.data() + end);
    }
    end += size;
    payload.varint(raw.size());
    payload.varint(size);
  }
  payload.append({packed.data(), end});
}

std::span<const std::uint8_t> EventBlockEncoder::encode(BlockHeader& header, std::span<const Event> events,
                                                        const Dictionary& dictionary, std::uint32_t& used_shapes) {
  State& state = *state_;
  state.used_shapes = used_shapes;
  header.used_shapes = used_shapes;
  header.event_count = static_cast<std::uint32_t>(events.size());
  header.first_stamp = events.empty() ? 0 : events.front().stamp;
  header.last_stamp = events.empty() ? 0 : events.back().stamp;
  header.shape_count = dictionary.shapes.size();
  header.stack_count = dictionary.stacks.size();
  // To the last one, and without a branch that is wrong at every fifth event.
  bool free_stacks = false;
  for (const Event& event : events) {
    free_stacks |=
        static_cast<bool>(static_cast<int>(event.kind == EventKind::Free) & static_cast<int>(event.shape != kNoShape));
  }
  const std::uint64_t flags = free_stacks ? std::uint64_t{kBlockFreeStacks} : 0;

  for (ColumnBuffer& buffer : state.columns) buffer.reset(events.size());
  state.symbols.reset();
  state.addresses.reset();
  if (free_stacks) state.free_stacks.assign(SymbolModel::kByThree, 0);

  ByteWriter& payload = state.payload;
  payload.clear();
  payload.varint(flags);
  payload.varint(header.thread);
  payload.varint(header.first_event);
  payload.varint(header.spool_events);
  payload.varint(header.first_chunk);
  payload.varint(header.last_chunk - header.first_chunk);
  payload.varint(header.event_count);
  payload.varint(header.first_stamp);
  payload.varint(header.last_stamp - header.first_stamp);
  payload.varint(header.shape_count);
  payload.varint(header.stack_count);
  payload.varint(header.used_shapes);
  state.put_columns(events, dictionary, header.first_stamp, flags);
  state.pack();
  used_shapes = state.used_shapes;
  return payload.bytes();
}

}  // namespace tare::trace
