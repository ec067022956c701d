// Writes event blocks: see event_block.h.
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "trace/byte_stream.h"
#include "trace/event_block.h"
#include "trace/event_columns.h"
#include "trace/event_model.h"

namespace tare::trace {

namespace {

constexpr int kZstdLevel = 1;
constexpr std::size_t kAhead = 12;           // events whose far-off facts are fetched early
constexpr std::size_t kSmallestPacked = 48;  // below, a zstd frame's own bytes eat the gain

// Where the address of a block allocated in this event block is found again when it is freed. Direct-mapped by address,
// so that neighbours don't collide; an overwritten entry only costs a longer code.
class BirthIndex {
 public:
  void reset() { blocks_.assign(kSlots, AddressModel::kNoBlock); }
  void put(std::uint64_t address, std::uint32_t block) { blocks_[slot(address)] = block; }
  void prefetch(std::uint64_t address) const { __builtin_prefetch(&blocks_[slot(address)]); }
  std::uint32_t find(std::uint64_t address, const AddressModel& model) const {
    const std::uint32_t block = blocks_[slot(address)];
    if (block == AddressModel::kNoBlock || model.address_of(block) != address || !model.live(block)) {
      return AddressModel::kNoBlock;
    }
    return block;
  }

 private:
  static constexpr std::size_t kSlots = 1 << 16;
  static std::size_t slot(std::uint64_t address) {
    return (address >> 4 ^ address >> 20 ^ address >> 36) & (kSlots - 1);
  }
  std::vector<std::uint32_t> blocks_;
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
  void byte(std::uint8_t value) { *end_++ = value; }
  void varint(std::uint64_t value) { end_ = put_varint(end_, value); }
  void distance(std::uint64_t from, std::uint64_t to) {
    const std::uint64_t key = distance_key(from, to);
    varint(key);
    if ((key & 1) != 0) byte(static_cast<std::uint8_t>((to - from) & 15));
  }
  std::span<const std::uint8_t> bytes() const { return {data_.get(), static_cast<std::size_t>(end_ - data_.get())}; }

 private:
  std::unique_ptr<std::uint8_t[]> data_;
  std::uint8_t* end_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace

struct EventBlockEncoder::State {
  std::array<ColumnBuffer, kColumns> columns;
  SymbolModel symbols;
  AddressModel addresses;
  BirthIndex births;
  std::vector<std::uint32_t> free_stacks;
  std::uint32_t used_shapes = 0;
  std::uint64_t last_map = 0;
  ByteWriter payload;
  std::vector<std::uint8_t> packed;
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~State() { ZSTD_freeCCtx(zstd); }

  ColumnBuffer& column(Column which) { return columns[static_cast<std::size_t>(which)]; }

  void prefetch(const Event& event, const Dictionary& dictionary) const;
  void put_symbol(Symbol symbol);
  void put_alloc(std::uint64_t address, ShapeId shape, const Dictionary& dictionary);
  // Gives the token for the history.
  std::uint32_t put_release(std::uint64_t address, Symbol symbol);
  void put_columns(std::span<const Event> events, const Dictionary& dictionary, std::uint64_t first_stamp,
                   std::uint64_t flags);
  void pack();
};

EventBlockEncoder::EventBlockEncoder() : state_(std::make_unique<State>()) {}
EventBlockEncoder::~EventBlockEncoder() = default;

void EventBlockEncoder::State::put_symbol(Symbol symbol) {
  ColumnBuffer& codes = column(Column::SymbolCodes);
  int code = 0;
  while (code < SymbolModel::kGuesses && symbols.guess(code) != symbol) ++code;
  if (code < SymbolModel::kGuesses) {
    codes.byte(static_cast<std::uint8_t>(code));
  } else if (symbol >= kFirstShapeSymbol) {
    if (symbol == shape_symbol(ShapeId{used_shapes}, ShapeUse::Alloc)) {
      codes.byte(kSymbolNewAlloc);
    } else {
      codes.byte(kSymbolShape);
      column(Column::SymbolValues)
          .varint(zigzag(static_cast<std::int64_t>(used_shapes) - index(shape_of(symbol))) * 4 +
                  static_cast<std::uint32_t>(use_of(symbol)));
    }
  } else if (symbol == static_cast<Symbol>(FreeApi::Free)) {
    codes.byte(kSymbolFree);
  } else {
    codes.byte(kSymbolOtherFree);
    column(Column::SymbolValues).varint(symbol);
  }
  if (symbol >= kFirstShapeSymbol) used_shapes = std::max(used_shapes, index(shape_of(symbol)) + 1);
  symbols.saw(symbol);
}

void EventBlockEncoder::State::put_alloc(std::uint64_t address, ShapeId shape, const Dictionary& dictionary) {
  const std::uint64_t usable = dictionary.shapes[index(shape)].usable_bytes;
  const std::uint8_t code = addresses.find_alloc(usable, address);
  column(Column::AllocCodes).byte(code);
  if (code == AddressModel::kAllocOther) column(Column::AllocValues).distance(addresses.alloc_base(), address);
  births.put(address, addresses.block_count());
  addresses.allocated(address, shape, usable, code);
}

std::uint32_t EventBlockEncoder::State::put_release(std::uint64_t address, Symbol symbol) {
  ColumnBuffer& codes = column(Column::FreeCodes);
  const std::uint32_t block = births.find(address, addresses);
  if (block == AddressModel::kNoBlock) {
    codes.byte(kFreeForeign);
    column(Column::FreeValues).distance(addresses.foreign_base(), address);
    addresses.freed_foreign(address);
    return symbol;
  }
  const std::size_t context = symbols.context();
  const std::uint8_t code = addresses.find_free(block, context);
  codes.byte(code);
  if (code == AddressModel::kFreeOther) column(Column::FreeValues).varint(addresses.block_count() - block);
  const std::uint32_t token = ~shape_symbol(addresses.shape_of(block), ShapeUse::Alloc);
  addresses.freed(block, context);
  return token;
}

void EventBlockEncoder::State::prefetch(const Event& event, const Dictionary& dictionary) const {
  if (event.kind == EventKind::Free) {
    births.prefetch(event.address);
  } else if (event.shape != kNoShape) {
    __builtin_prefetch(&dictionary.shapes[index(event.shape)].usable_bytes);
  }
}

void EventBlockEncoder::State::put_columns(std::span<const Event> events, const Dictionary& dictionary,
                                           std::uint64_t first_stamp, std::uint64_t flags) {
  ColumnBuffer& steps = column(Column::StampSteps);
  std::uint64_t last_stamp = first_stamp;
  const auto put_stamp = [&](std::uint64_t stamp) {
    const std::uint64_t step = stamp - last_stamp;
    last_stamp = stamp;
    if (step < kStampEscape) {
      steps.byte(static_cast<std::uint8_t>(step));
    } else {
      steps.byte(kStampEscape);
      column(Column::StampRests).varint(step - kStampEscape);
    }
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (i + kAhead < events.size()) prefetch(events[i + kAhead], dictionary);
    put_stamp(event.stamp);
    switch (event.kind) {
      case EventKind::Alloc: {
        const Symbol symbol = shape_symbol(event.shape, ShapeUse::Alloc);
        put_symbol(symbol);
        put_alloc(event.address, event.shape, dictionary);
        symbols.remember(symbol);
        break;
      }
      case EventKind::ReallocEnd: {
        const Event& start = events[++i];
        const Symbol symbol = shape_symbol(start.shape, ShapeUse::Realloc);
        put_symbol(symbol);
        put_release(event.address, symbol);
        put_stamp(start.stamp);
        put_alloc(start.address, start.shape, dictionary);
        symbols.remember(symbol);
        break;
      }
      case EventKind::Free: {
        const Symbol symbol = event.api;
        put_symbol(symbol);
        if ((flags & kBlockFreeStacks) != 0) {
          std::uint32_t& guess = free_stacks[symbols.context()];
          const std::uint32_t stack = index(event.shape) + 1;  // kNoShape gives 0
          column(Column::FreeStacks).varint(zigzag(static_cast<std::int64_t>(stack) - guess));
          guess = stack;
        }
        symbols.remember(put_release(event.address, symbol));
        break;
      }
      case EventKind::Map:
      case EventKind::Unmap:
        put_symbol(shape_symbol(event.shape, event.kind == EventKind::Map ? ShapeUse::Map : ShapeUse::Unmap));
        column(Column::MapAddresses).distance(last_map, event.address);
        last_map = event.address;
        break;
      default:
        column(Column::SymbolCodes).byte(kSymbolNote);
        column(Column::Notes).byte(static_cast<std::uint8_t>(event.kind));
        column(Column::Notes).byte(event.api);
        column(Column::Notes).varint(event.address);
        column(Column::Notes).varint(std::uint64_t{index(event.shape) + 1});
        break;
    }
  }
}

void EventBlockEncoder::State::pack() {
  payload.varint(kColumns);
  packed.clear();
  for (const ColumnBuffer& buffer : columns) {
    const std::span<const std::uint8_t> raw = buffer.bytes();
    const std::size_t at = packed.size();
    std::size_t size = raw.size();
    if (raw.size() >= kSmallestPacked) {
      packed.resize(at + ZSTD_compressBound(raw.size()));
      size = ZSTD_compressCCtx(zstd, packed.data() + at, packed.size() - at, raw.data(), raw.size(), kZstdLevel);
    }
    if (raw.size() < kSmallestPacked || ZSTD_isError(size) != 0 || size >= raw.size()) {
      size = raw.size();
      packed.resize(at);
      packed.insert(packed.end(), raw.begin(), raw.end());
    }
    packed.resize(at + size);
    payload.varint(raw.size());
    payload.varint(size);
  }
  payload.append(packed);
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
  const bool free_stacks = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return event.kind == EventKind::Free && event.shape != kNoShape;
  });
  const std::uint64_t flags = free_stacks ? std::uint64_t{kBlockFreeStacks} : 0;

  for (ColumnBuffer& buffer : state.columns) buffer.reset(events.size());
  state.symbols.reset();
  state.addresses.reset();
  state.births.reset();
  state.last_map = 0;
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
