// Growth of the dictionary as records: see dictionary_codec.h; FORMAT.md has the grammar.
#include "trace/file/dictionary_codec.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trace/file/event_model.h"
#include "trace/file/zstd_packer.h"
#include "trace/spool/program_note.h"

namespace tare::trace {

namespace {

// first id, count, unpacked size, then the entries, packed where that makes them smaller and readers take them.
void put_packed(std::size_t first, std::size_t count, const std::vector<std::uint8_t>& entries, Packing packing,
                ByteWriter& out) {
  out.varint(first);
  out.varint(count);
  out.varint(entries.size());
  if (packing == Packing::Never) return out.append(entries);
  const std::span<const std::uint8_t> packed = ZstdPacker::of_this_thread().pack(entries);
  out.append(packed.empty() ? std::span<const std::uint8_t>(entries) : packed);
}

// Calls put(id, to) for each entry: it writes at most `most_bytes` at `to` and returns the end. By kilobytes: a
// compiler has half a stack an allocation, and put byte by byte where a vector ends they took a twelfth of draining its
// events.
template <typename Put>
void put_entries(std::size_t first, std::size_t last, std::size_t most_bytes, ByteWriter& entries, Put put) {
  std::array<std::uint8_t, 4096> piece;
  std::uint8_t* end = piece.data();
  const auto hand_over = [&] {
    entries.append({piece.data(), end});
    end = piece.data();
  };
  for (std::size_t id = first; id < last; ++id) {
    if (piece.data() + piece.size() - end < static_cast<std::ptrdiff_t>(most_bytes)) hand_over();
    end = put(id, end);
  }
  hand_over();
}

struct Entries {
  std::vector<std::uint8_t> bytes;
  ByteReader reader;
  std::uint64_t count = 0;
  const char* damage = nullptr;
};

// Every entry takes at least `least_bytes`: a count that doesn't fit the bytes is refused before anything is reserved
// for it. In memory it takes about `memory_bytes` besides.
Entries take_packed(std::span<const std::uint8_t> payload, std::size_t expected_first, std::uint64_t least_bytes,
                    std::uint64_t memory_bytes, ExpansionBudget& budget) {
  Entries entries;
  ByteReader reader(payload);
  const std::uint64_t first = reader.varint();
  entries.count = reader.varint();
  const std::uint64_t size = reader.varint();
  const std::span<const std::uint8_t> packed = reader.take(reader.remaining());
  if (reader.failed() || first != expected_first) {
    entries.damage = "dictionary entries don't follow the ones before";
  } else if (size > kMaxUnpackedBytes || entries.count > size / least_bytes || entries.count > kMaxRecordEntries) {
    entries.damage = "a dictionary record has an impossible size";
  } else if (!budget.take(entries.count, memory_bytes, size)) {
    entries.damage = kExpandsTooFar;
  } else if (packed.size() == size) {
    entries.bytes.assign(packed.begin(), packed.end());
  } else {
    // zstd's own record of the size must agree before memory is taken for it.
    if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) {
      entries.damage = "a dictionary record doesn't unpack to its size";
      return entries;
    }
    entries.bytes.resize(size);
    const std::size_t unpacked = ZSTD_decompress(entries.bytes.data(), size, packed.data(), packed.size());
    if (ZSTD_isError(unpacked) != 0 || unpacked != size)
      entries.damage = "a dictionary record doesn't unpack to its size";
  }
  entries.reader = ByteReader(entries.bytes);
  return entries;
}

const char* finish(const Entries& entries) {
  if (entries.reader.failed()) return "a dictionary record is shorter than its count";
  return entries.reader.at_end() ? nullptr : "a dictionary record is longer than its count";
}

constexpr std::uint64_t kShapeWeighted = 1;
constexpr std::uint64_t kShapeMap = 2;

}  // namespace

void encode_modules(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing,
                    ByteWriter& out) {
  ByteWriter entries;
  for (std::size_t id = first; id < last; ++id) {
    const Module& module = dictionary.modules[id];
    entries.varint(module.load_bias);
    entries.varint(module.start);
    entries.varint(module.end - module.start);
    entries.varint(module.generation);
    entries.text(module.path);
    entries.varint(module.build_id.size());
    entries.append(module.build_id);
  }
  put_packed(first, last - first, entries.bytes(), packing, out);
}

const char* decode_modules(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary) {
  Entries entries = take_packed(payload, dictionary.modules.size(), 6, kModuleMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  ByteReader& reader = entries.reader;
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    Module module;
    module.load_bias = reader.varint();
    module.start = reader.varint();
    module.end = module.start + reader.varint();
    module.generation = static_cast<std::uint32_t>(reader.varint());
    module.path = reader.text();
    const std::span<const std::uint8_t> build_id = reader.take(reader.varint());
    module.build_id.assign(build_id.begin(), build_id.end());
    if (reader.failed()) break;
    dictionary.modules.push_back(std::move(module));
  }
  return finish(entries);
}

void encode_rows(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing, ByteWriter& out) {
  ByteWriter entries;
  std::uint64_t last_address = 0;
  for (std::size_t id = first; id < last; ++id) {
    const std::uint64_t bits = dictionary.rows[id];
    entries.varint(index(row_module(bits)));
    entries.varint(zigzag(static_cast<std::int64_t>(row_address(bits) - last_address)));
    last_address = row_address(bits);
  }
  put_packed(first, last - first, entries.bytes(), packing, out);
}

const char* decode_rows(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary) {
  Entries entries = take_packed(payload, dictionary.rows.size(), 2, kRowMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    const std::uint64_t module = entries.reader.varint();
    last += static_cast<std::uint64_t>(unzigzag(entries.reader.varint()));
    if (entries.reader.failed()) break;
    if (module > index(kNoModule) || row_address(last) != last) return "a row has an impossible address or module";
    dictionary.rows.push_back(last | module << 48);
  }
  return finish(entries);
}

void encode_stacks(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing,
                   ByteWriter& out) {
  ByteWriter entries;
  std::int64_t next_row = 0;
  put_entries(first, last, 2 * kMaxVarintBytes, entries, [&](std::size_t id, std::uint8_t* to) {
    const StackNode& node = dictionary.stacks[id];
    to = put_varint(to, id - index(node.caller) - 1);
    to = put_varint(to, zigzag(static_cast<std::int64_t>(index(node.row)) - next_row));
    next_row = static_cast<std::int64_t>(index(node.row)) + 1;
    return to;
  });
  put_packed(first, last - first, entries.bytes(), packing, out);
}

const char* decode_stacks(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary) {
  Entries entries = take_packed(payload, dictionary.stacks.size(), 2, kStackMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  std::uint64_t next_row = 0;
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    const std::uint64_t id = dictionary.stacks.size();
    const std::uint64_t distance = entries.reader.varint();
    const std::uint64_t row = next_row + static_cast<std::uint64_t>(unzigzag(entries.reader.varint()));
    if (entries.reader.failed()) break;
    if (distance >= id || row >= dictionary.rows.size()) return "a stack refers to entries that don't exist";
    dictionary.stacks.push_back(
        {StackId{static_cast<std::uint32_t>(id - 1 - distance)}, RowId{static_cast<std::uint32_t>(row)}});
    next_row = row + 1;
  }
  return finish(entries);
}

void encode_shapes(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing,
                   ByteWriter& out) {
  ByteWriter entries;
  std::int64_t last_stack = 0;
  put_entries(first, last, 6 * kMaxVarintBytes, entries, [&](std::size_t id, std::uint8_t* to) {
    const Shape& shape = dictionary.shapes[id];
    const std::uint64_t flags = (shape.weight != 1 ? kShapeWeighted : 0) | (shape.is_map != 0 ? kShapeMap : 0);
    to = put_varint(to, flags | static_cast<std::uint64_t>(shape.api) << 2);
    *to++ = shape.align_log2;
    to = put_varint(to, zigzag(static_cast<std::int64_t>(index(shape.stack)) - last_stack));
    to = put_varint(to, shape.requested_bytes);
    to = put_varint(to, zigzag(static_cast<std::int64_t>(shape.usable_bytes - shape.requested_bytes)));
    if ((flags & kShapeWeighted) != 0) to = put_fixed64(to, std::bit_cast<std::uint64_t>(shape.weight));
    last_stack = index(shape.stack);
    return to;
  });
  put_packed(first, last - first, entries.bytes(), packing, out);
}

const char* decode_shapes(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary) {
  Entries entries = take_packed(payload, dictionary.shapes.size(), 5, kShapeMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  if (dictionary.shapes.size() + entries.count > kMaxShapes) return "there are more shapes than the format allows";
  ByteReader& reader = entries.reader;
  std::uint64_t last_stack = 0;
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    Shape shape{};
    const std::uint64_t flags = reader.varint();
    shape.align_log2 = reader.byte();
    last_stack += static_cast<std::uint64_t>(unzigzag(reader.varint()));
    shape.requested_bytes = reader.varint();
    shape.usable_bytes = shape.requested_bytes + static_cast<std::uint64_t>(unzigzag(reader.varint()));
    shape.weight = (flags & kShapeWeighted) != 0 ? std::bit_cast<double>(reader.fixed64()) : 1;
    shape.is_map = (flags & kShapeMap) != 0 ? 1 : 0;
    shape.api = static_cast<AllocApi>(flags >> 2);
    if (reader.failed()) break;
    const bool known_api =
        flags >> 2 < 32 && ((shape.is_map != 0 ? kKnownMapApis : kKnownAllocApis) >> (flags >> 2) & 1) != 0;
    if (last_stack >= dictionary.stacks.size()) {
      return "a shape refers to a stack that doesn't exist";
    }
    if (!known_api || !(shape.weight >= 1 && shape.weight <= 1e18) || shape.align_log2 > 63) {
      return "a shape has impossible facts";
    }
    shape.stack = StackId{static_cast<std::uint32_t>(last_stack)};
    dictionary.shapes.push_back(shape);
  }
  return finish(entries);
}

void encode_names(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing, ByteWriter& out) {
  ByteWriter entries;
  for (std::size_t id = first; id < last; ++id) entries.text(dictionary.names[id]);
  put_packed(first, last - first, entries.bytes(), packing, out);
}

const char* decode_names(std::span<const std::uint8_t> payload, ExpansionBudget& budget, Dictionary& dictionary) {
  Entries entries = take_packed(payload, dictionary.names.size(), 1, kNameMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  if (dictionary.names.size() + entries.count > kMaxNames) return "there are more names than the format allows";
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    std::string name = entries.reader.text();
    if (entries.reader.failed()) break;
    if (name.size() > kMaxNameBytes) return "a name is longer than the format allows";
    dictionary.names.push_back(std::move(name));
  }
  return finish(entries);
}

void encode_given_frames(const Dictionary& dictionary, std::size_t first, std::size_t last, Packing packing,
                         ByteWriter& out) {
  ByteWriter entries;
  for (std::size_t id = first; id < last; ++id) {
    const GivenFrame& frame = dictionary.given_frames[id];
    entries.varint(index(frame.row));
    entries.text(frame.function);
    entries.text(frame.file);
    entries.varint(frame.line);
  }
  put_packed(first, last - first, entries.bytes(), packing, out);
}

const char* decode_given_frames(std::span<const std::uint8_t> payload, ExpansionBudget& budget,
                                Dictionary& dictionary) {
  Entries entries = take_packed(payload, dictionary.given_frames.size(), 4, kGivenFrameMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    const std::uint64_t row = entries.reader.varint();
    GivenFrame frame;
    frame.function = entries.reader.text();
    frame.file = entries.reader.text();
    frame.line = static_cast<std::uint32_t>(entries.reader.varint());
    if (entries.reader.failed()) break;
    if (row >= dictionary.rows.size()) return "a given frame refers to an impossible row";
    if (std::max(frame.function.size(), frame.file.size()) > kMaxFrameText)
      return "a given frame is longer than the format allows";
    frame.row = static_cast<RowId>(row);
    dictionary.given_frames.push_back(std::move(frame));
  }
  return finish(entries);
}

void encode_live_blocks(const LiveSet& live, std::size_t first, std::size_t last, Packing packing, ByteWriter& out) {
  ByteWriter entries;
  std::uint64_t last_address = 0;
  std::int64_t last_shape = 0;
  put_entries(first, last, 2 * kMaxVarintBytes, entries, [&](std::size_t id, std::uint8_t* to) {
    const LiveSet::Block& block = live.blocks[id];
    to = put_varint(to, block.address - last_address);
    to = put_varint(to, zigzag(static_cast<std::int64_t>(index(block.shape)) - last_shape));
    last_address = block.address;
    last_shape = index(block.shape);
    return to;
  });
  put_packed(first, last - first, entries.bytes(), packing, out);
}

void encode_live_mappings(const LiveSet& live, std::size_t first, std::size_t last, Packing packing, ByteWriter& out) {
  ByteWriter entries;
  std::uint64_t last_end = 0;
  put_entries(first, last, 2 * kMaxVarintBytes, entries, [&](std::size_t id, std::uint8_t* to) {
    to = put_varint(to, live.mappings[id].start - last_end);
    to = put_varint(to, live.mappings[id].end - live.mappings[id].start);
    last_end = live.mappings[id].end;
    return to;
  });
  put_packed(first, last - first, entries.bytes(), packing, out);
}

namespace {

const char* decode_live_blocks(std::span<const std::uint8_t> payload, ExpansionBudget& budget, LiveSet& live) {
  Entries entries = take_packed(payload, live.blocks.size(), 2, kLiveMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  std::uint64_t address = 0;
  std::uint64_t shape = 0;
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    address += entries.reader.varint();
    shape += static_cast<std::uint64_t>(unzigzag(entries.reader.varint()));
    if (entries.reader.failed()) break;
    if (shape >= live.dictionary.shapes.size()) return "a live block refers to a shape that doesn't exist";
    if (live.dictionary.shapes[shape].is_map != 0) return "a live block has the shape of a mapping";
    live.blocks.push_back({address, static_cast<ShapeId>(shape)});
  }
  return finish(entries);
}

const char* decode_live_mappings(std::span<const std::uint8_t> payload, ExpansionBudget& budget, LiveSet& live) {
  Entries entries = take_packed(payload, live.mappings.size(), 2, kLiveMemory, budget);
  if (entries.damage != nullptr) return entries.damage;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < entries.count; ++i) {
    const std::uint64_t start = end + entries.reader.varint();
    const std::uint64_t length = entries.reader.varint();
    if (entries.reader.failed()) break;
    if (start < end || start + length < start) return "a mapping reaches beyond the address space";
    end = start + length;
    live.mappings.push_back({start, end});
  }
  return finish(entries);
}

}  // namespace

const char* decode_live(std::span<const std::uint8_t> payload, ExpansionBudget& budget, LiveSet& live) {
  if (payload.empty()) return "a record of live blocks is empty";
  if (live.dictionary.stacks.empty()) live.dictionary.stacks.push_back({kEmptyStack, RowId{0}});
  const std::span<const std::uint8_t> part = payload.subspan(1);
  switch (static_cast<LivePart>(payload.front())) {
    case LivePart::Blocks:
      return decode_live_blocks(part, budget, live);
    case LivePart::Modules:
      return decode_modules(part, budget, live.dictionary);
    case LivePart::Rows:
      return decode_rows(part, budget, live.dictionary);
    case LivePart::Stacks:
      return decode_stacks(part, budget, live.dictionary);
    case LivePart::Shapes:
      return decode_shapes(part, budget, live.dictionary);
    case LivePart::Mappings:
      return decode_live_mappings(part, budget, live);
  }
  return "a record of live blocks has an unknown part";
}

}  // namespace tare::trace
