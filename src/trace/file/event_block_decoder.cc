// Decodes event blocks: the mirror of event_block_encoder.cc, with checks of all values.
#include <zstd.h>

#include <algorithm>
#include <array>

#include "trace/base/byte_stream.h"
#include "trace/file/event_block.h"
#include "trace/file/event_columns.h"
#include "trace/file/event_model.h"

namespace tare::trace {

namespace {

constexpr int kShapesAhead = 16;

}  // namespace

struct EventBlockDecoder::State {
  std::array<std::vector<std::uint8_t>, kColumns> unpacked;
  std::array<ByteReader, kColumns> columns;
  SymbolModel symbols;
  AddressModel addresses;
  std::vector<std::uint32_t> free_stacks;
  std::uint64_t used_shapes = 0;
  std::uint64_t last_map = 0;
  ByteReader symbols_ahead;               // of the symbol values, some of them ahead: see foresee_shape()
  std::vector<Event*> nameless_contents;  // notes with the address of the block that the next event ends
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~State() { ZSTD_freeDCtx(zstd); }

  ByteReader& column(Column which) { return columns[static_cast<std::size_t>(which)]; }

  const char* unpack(ByteReader& payload, std::uint32_t event_count);
  void foresee_shape(const Dictionary& dictionary);
  std::uint64_t take_symbol_value(const Dictionary& dictionary);
  bool take_symbol(std::uint8_t code, const BlockHeader& header, const Dictionary& dictionary, Symbol& symbol);
  bool take_alloc(std::uint8_t code, ShapeId shape, const Dictionary& dictionary, std::uint64_t& address);
  bool take_release(std::uint8_t code, Symbol symbol, std::uint64_t& address, std::uint32_t& token);
  bool take_event(const BlockHeader& header, std::uint64_t flags, const Dictionary& dictionary, std::uint64_t& stamp,
                  Event*& out);
  bool name_contents(std::span<const Event> events);
};

EventBlockDecoder::EventBlockDecoder() : state_(std::make_unique<State>()) {}
EventBlockDecoder::~EventBlockDecoder() = default;

namespace {

// True if a note of this kind may refer to entry `entry`. Kinds of newer versions refer to anything.
bool note_may_refer(EventKind kind, std::uint64_t entry, const BlockHeader& header, const Dictionary& dictionary) {
  switch (kind) {
    case EventKind::Report:
    case EventKind::PoolCreate:
    case EventKind::Amount:
      return entry < dictionary.names.size();
    case EventKind::PoolGrow:
    case EventKind::PoolAlloc:
    case EventKind::ReportSite:
    case EventKind::FailedRequest:
      return entry < header.shape_count && dictionary.shapes[entry].is_map != 0;
    case EventKind::CallCost:
      return entry < header.shape_count && dictionary.shapes[entry].is_map == 0;
    case EventKind::Contents:
      return entry <= kMostUnwrittenBytes;
    default:
      return kind > kLastEventKind && entry < index(kNoShape);
  }
}

std::uint64_t take_distance(ByteReader& column, std::uint64_t from) {
  const std::uint64_t key = column.varint();
  const std::uint64_t low = (key & 1) != 0 ? column.byte() & 15 : 0;
  return from + (static_cast<std::uint64_t>(unzigzag(key >> 1)) << 4) + low;
}

bool read_block_header(ByteReader& payload, BlockHeader& header, std::uint64_t& flags) {
  flags = payload.varint();
  const std::uint64_t thread = payload.varint();
  header.first_event = payload.varint();
  header.spool_events = payload.varint();
  header.first_chunk = payload.varint();
  header.last_chunk = header.first_chunk + payload.varint();
  const std::uint64_t event_count = payload.varint();
  header.first_stamp = payload.varint();
  header.last_stamp = header.first_stamp + payload.varint();
  header.shape_count = payload.varint();
  header.stack_count = payload.varint();
  header.used_shapes = payload.varint();
  if (payload.failed() || thread > 0xffffffffu || event_count > kMaxBlockEvents) return false;
  if (header.shape_count > kMaxShapes || header.stack_count > 0xffffffffu || header.used_shapes > header.shape_count)
    return false;
  if (header.last_stamp < header.first_stamp || header.last_chunk < header.first_chunk) return false;
  header.thread = static_cast<std::uint32_t>(thread);
  header.event_count = static_cast<std::uint32_t>(event_count);
  return true;
}

}  // namespace

bool EventBlockDecoder::read_header(std::span<const std::uint8_t> payload, BlockHeader& header) {
  ByteReader reader(payload);
  std::uint64_t flags;
  return read_block_header(reader, header, flags);
}

const char* EventBlockDecoder::State::unpack(ByteReader& payload, std::uint32_t event_count) {
  if (payload.varint() != kColumns) return "an event block has an unknown number of columns";
  std::array<std::uint64_t, kColumns> raw_sizes, packed_sizes;
  // The most bytes of a column for one event; a larger column is invalid and would only cost memory.
  const std::uint64_t most_bytes = (std::uint64_t{event_count} + 1) * 24;
  for (int i = 0; i < kColumns; ++i) {
    raw_sizes[i] = payload.varint();
    packed_sizes[i] = payload.varint();
    if (raw_sizes[i] > most_bytes || packed_sizes[i] > raw_sizes[i]) return "a column has an impossible size";
  }
  for (int i = 0; i < kColumns; ++i) {
    const std::span<const std::uint8_t> packed = payload.take(packed_sizes[i]);
    if (payload.failed()) return "a column runs past the end of its block";
    if (packed.size() == raw_sizes[i]) {
      columns[i] = ByteReader(packed);
      continue;
    }
    if (unpacked[i].size() < raw_sizes[i]) unpacked[i].resize(raw_sizes[i]);
    const std::size_t size = ZSTD_decompressDCtx(zstd, unpacked[i].data(), raw_sizes[i], packed.data(), packed.size());
    if (ZSTD_isError(size) != 0 || size != raw_sizes[i]) return "a column doesn't unpack to its size";
    columns[i] = ByteReader({unpacked[i].data(), size});
  }
  return payload.at_end() ? nullptr : "an event block is followed by bytes that belong to nothing";
}

// Prefetches the shape of the next symbol value ahead. In a dictionary of a million shapes, each allocation of one that
// no guess has is a wait for memory otherwise, and half of decoding.
void EventBlockDecoder::State::foresee_shape(const Dictionary& dictionary) {
  if (symbols_ahead.at_end()) return;
  const std::uint64_t shape = used_shapes - static_cast<std::uint64_t>(unzigzag(symbols_ahead.varint() / 4));
  if (shape < dictionary.shapes.size()) __builtin_prefetch(&dictionary.shapes[shape]);
}

std::uint64_t EventBlockDecoder::State::take_symbol_value(const Dictionary& dictionary) {
  foresee_shape(dictionary);
  return column(Column::SymbolValues).varint();
}

bool EventBlockDecoder::State::take_symbol(std::uint8_t code, const BlockHeader& header, const Dictionary& dictionary,
                                           Symbol& symbol) {
  if (code < SymbolModel::kGuesses) {
    symbol = symbols.guess(code);
    if (symbol == 0) return false;
  } else if (code == kSymbolNewAlloc) {
    if (used_shapes >= header.shape_count) return false;
    symbol = shape_symbol(ShapeId{static_cast<std::uint32_t>(used_shapes)}, ShapeUse::Alloc);
  } else if (code == kSymbolShape) {
    const std::uint64_t value = take_symbol_value(dictionary);
    const std::uint64_t shape = used_shapes - static_cast<std::uint64_t>(unzigzag(value / 4));
    if (shape >= header.shape_count) return false;
    symbol = shape_symbol(ShapeId{static_cast<std::uint32_t>(shape)}, static_cast<ShapeUse>(value % 4));
  } else if (code == kSymbolFree) {
    symbol = static_cast<Symbol>(FreeApi::Free);
  } else if (code == kSymbolOtherFree) {
    const std::uint64_t api = take_symbol_value(dictionary);
    if (api == 0 || api >= kFirstShapeSymbol) return false;
    symbol = static_cast<Symbol>(api);
  } else {
    return false;
  }
  if (symbol >= kFirstShapeSymbol) used_shapes = std::max<std::uint64_t>(used_shapes, index(shape_of(symbol)) + 1);
  symbols.move_to_front(symbol);
  return true;
}

bool EventBlockDecoder::State::take_alloc(std::uint8_t code, ShapeId shape, const Dictionary& dictionary,
                                          std::uint64_t& address) {
  const std::uint64_t usable = dictionary.shapes[index(shape)].usable_bytes;
  if (code > AddressModel::kAllocOther) return false;
  std::uint64_t before = AddressModel::kNoBlock;
  std::uint64_t other = 0;
  if (code == AddressModel::kAllocAgain) {
    before = addresses.block_count() - column(Column::AllocValues).varint();
    if (before >= addresses.block_count()) return false;
  } else if (code == AddressModel::kAllocOther) {
    other = take_distance(column(Column::AllocValues), addresses.alloc_base());
  }
  address = addresses.allocated_by(usable, code, static_cast<std::uint32_t>(before), other, shape);
  return true;
}

bool EventBlockDecoder::State::take_release(std::uint8_t code, Symbol symbol, std::uint64_t& address,
                                            std::uint32_t& token) {
  if (code == kFreeForeign) {
    address = take_distance(column(Column::FreeValues), addresses.foreign_base());
    addresses.freed_foreign(address);
    token = symbol;
    return true;
  }
  const std::size_t context = symbols.context();
  std::uint64_t block;
  if (code == AddressModel::kFreeOther) {
    block = addresses.block_count() - column(Column::FreeValues).varint();
  } else if (code < AddressModel::kFreeOther) {
    block = addresses.guess_free(code, context);
  } else {
    return false;
  }
  if (block >= addresses.block_count() || !addresses.live(static_cast<std::uint32_t>(block))) return false;
  const std::uint32_t known = static_cast<std::uint32_t>(block);
  address = addresses.address_of(known);
  token = ~shape_symbol(addresses.shape_of(known), ShapeUse::Alloc);
  addresses.freed(known, context);
  return true;
}

bool EventBlockDecoder::State::take_event(const BlockHeader& header, std::uint64_t flags, const Dictionary& dictionary,
                                          std::uint64_t& stamp, Event*& out) {
  const auto take_stamp = [&] {
    const std::uint8_t step = column(Column::StampSteps).byte();
    stamp += step;
    if (step == kStampEscape) stamp += column(Column::StampRests).varint();
  };
  take_stamp();
  Event event{stamp, 0, kNoShape, static_cast<std::uint16_t>(header.thread), EventKind::Alloc, 0};
  const std::uint8_t event_code = column(Column::EventCodes).byte();
  const std::uint8_t code = symbol_code_of(event_code);
  const std::uint8_t place = place_code_of(event_code);
  if (code == kSymbolNote) {
    if (place != 0) return false;
    ByteReader& notes = column(Column::Notes);
    event.kind = static_cast<EventKind>(notes.byte());
    event.api = notes.byte();
    event.address = notes.varint();
    const std::uint64_t entry = notes.varint();
    if (event.kind == EventKind::Contents && entry == 0) return false;
    if (event.kind < EventKind::ThreadStart) return false;
    if (event.kind == EventKind::Contents && event.address == 0) nameless_contents.push_back(out);
    if (entry != 0) {
      if (!note_may_refer(event.kind, entry - 1, header, dictionary)) return false;
      event.shape = ShapeId{static_cast<std::uint32_t>(entry - 1)};
    }
    *out++ = event;
    return true;
  }
  Symbol symbol;
  std::uint32_t token;
  if (!take_symbol(code, header, dictionary, symbol)) return false;
  if (symbol < kFirstShapeSymbol) {
    event.kind = EventKind::Free;
    event.api = static_cast<std::uint8_t>(symbol);
    if ((flags & kBlockFreeStacks) != 0) {
      std::uint32_t& guess = free_stacks[symbols.context()];
      guess += static_cast<std::uint32_t>(unzigzag(column(Column::FreeStacks).varint()));
      if (guess > header.stack_count) return false;
      event.shape = ShapeId{guess - 1};
    }
    if (!take_release(place, symbol, event.address, token)) return false;
    symbols.remember(token);
    *out++ = event;
    return true;
  }
  const ShapeId shape = shape_of(symbol);
  const ShapeUse use = use_of(symbol);
  const bool is_map = dictionary.shapes[index(shape)].is_map != 0;
  if (is_map != (use == ShapeUse::Map || use == ShapeUse::Unmap)) return false;
  if (is_map) {
    if (place != 0) return false;
    event.kind = use == ShapeUse::Map ? EventKind::Map : EventKind::Unmap;
    event.shape = shape;
    event.address = last_map = take_distance(column(Column::MapAddresses), last_map);
    *out++ = event;
    return true;
  }
  std::uint8_t alloc_place = place;
  if (use == ShapeUse::Realloc) {
    event.kind = EventKind::ReallocEnd;
    if (!take_release(place, symbol, event.address, token)) return false;
    *out++ = event;
    take_stamp();
    event.stamp = stamp;
    event.kind = EventKind::ReallocStart;
    const std::uint8_t second_code = column(Column::EventCodes).byte();
    if (symbol_code_of(second_code) != 0) return false;
    alloc_place = place_code_of(second_code);
  }
  event.shape = shape;
  if (!take_alloc(alloc_place, shape, dictionary, event.address)) return false;
  symbols.remember(symbol);
  *out++ = event;
  return true;
}

bool EventBlockDecoder::State::name_contents(std::span<const Event> events) {
  for (Event* const note : nameless_contents) {
    const std::size_t end = next_after_contents(events, static_cast<std::size_t>(note - events.data()));
    if (end >= events.size() || !ends_block(events[end].kind)) return false;
    note->address = events[end].address;
  }
  return true;
}

const char* EventBlockDecoder::decode(std::span<const std::uint8_t> payload, const Dictionary& dictionary,
                                      EventBuffer& out) {
  State& state = *state_;
  ByteReader reader(payload);
  BlockHeader header;
  std::uint64_t flags;
  if (!read_block_header(reader, header, flags)) return "an event block has a damaged header";
  if (header.shape_count > dictionary.shapes.size() || header.stack_count > dictionary.stacks.size()) {
    return "an event block refers to dictionary entries that don't exist";
  }
  if (const char* damage = state.unpack(reader, header.event_count)) return damage;
  state.used_shapes = header.used_shapes;
  state.symbols_ahead = state.column(Column::SymbolValues);
  for (int i = 0; i < kShapesAhead; ++i) state.foresee_shape(dictionary);
  state.symbols.reset();
  state.addresses.reset();
  state.last_map = 0;
  state.nameless_contents.clear();
  if ((flags & kBlockFreeStacks) != 0) state.free_stacks.assign(SymbolModel::kByThree, 0);

  Event* next = out.room(header.event_count + 1);  // a realloc's second half may come after the last that was announced
  Event* const end = next + header.event_count;
  const Event* const first = next;
  std::uint64_t stamp = header.first_stamp;
  while (next < end) {
    if (!state.take_event(header, flags, dictionary, stamp, next)) return "an event block holds an impossible event";
  }
  bool intact = next == end && stamp == (header.event_count == 0 ? 0 : header.last_stamp);
  for (const ByteReader& column : state.columns) intact = intact && !column.failed() && column.at_end();
  if (!intact) return "the columns of an event block don't fit each other";
  if (!state.name_contents({first, end})) return "an event block says what a block held that nothing ends";
  out.set_end(end);
  return nullptr;
}

}  // namespace tare::trace
