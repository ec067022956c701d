// Packs observations into columns: see moment_codec.h.
#include "trace/file/moment_codec.h"

#include <zstd.h>

#include <algorithm>
#include <array>

#include "trace/file/zstd_packer.h"

namespace tare::trace {

namespace {

constexpr std::uint64_t kMaxPartNameBytes = 4000;

enum Column : std::uint8_t {
  Addresses,
  Shapes,
  Digests,
  States,
  StartPointers,
  InteriorPointers,
  LeakRoots,
  Unchanged,
  HighWater,
  Memory,  // not of blocks: the process's, once a moment
};
constexpr std::size_t kBlockColumns = 10;
constexpr std::size_t kLeastColumns = 9;  // before there was Memory
constexpr std::uint64_t kMaxMemoryParts = 1 << 16;
using Columns = std::array<ByteWriter, kBlockColumns>;

// A value of a byte string can't be longer than this: the address column's varints.
constexpr std::uint64_t kMaxColumnBytes = kMaxRecordObservations * kMaxVarintBytes;

std::uint64_t or_zero(const std::optional<std::uint64_t>& value) { return value ? *value + 1 : 0; }
std::optional<std::uint64_t> from_zero(std::uint64_t code) {
  if (code == 0) return std::nullopt;
  return code - 1;
}

void drop_if_all_zero(ByteWriter& column) {
  if (std::all_of(column.bytes().begin(), column.bytes().end(), [](std::uint8_t byte) { return byte == 0; }))
    column.clear();
}

void fill(Columns& columns, std::span<const Observation> blocks) {
  std::uint64_t last = 0;
  std::uint64_t last_shape = 0;
  for (const Observation& block : blocks) {
    columns[Addresses].varint(block.address - last);
    last = block.address;
    const std::uint64_t shape = block.shape == kNoShape ? 0 : std::uint64_t{index(block.shape)} + 1;
    columns[Shapes].varint(zigzag(static_cast<std::int64_t>(shape - last_shape)));
    last_shape = shape;
    columns[Digests].fixed64(block.digest);
    columns[States].byte(
        static_cast<std::uint8_t>(static_cast<unsigned>(block.content) | static_cast<unsigned>(block.reach) << 2));
    columns[StartPointers].varint(block.start_pointers);
    columns[InteriorPointers].varint(block.interior_pointers);
    columns[LeakRoots].varint(block.leak_root == kNoObservation ? 0 : std::uint64_t{block.leak_root} + 1);
    columns[Unchanged].varint(or_zero(block.unchanged_ns));
    columns[HighWater].varint(or_zero(block.high_water_bytes));
  }
  for (const Column column : {Digests, States, StartPointers, InteriorPointers, LeakRoots, Unchanged, HighWater})
    drop_if_all_zero(columns[column]);
}

void fill_memory(ByteWriter& out, const Moment& moment) {
  if (moment.memory.empty()) return;
  out.varint(moment.absent_bytes);
  out.byte(moment.touches_known ? 1 : 0);
  const std::size_t count = std::min<std::size_t>(moment.memory.size(), kMaxMemoryParts);
  out.varint(count);
  for (const MemoryPart& part : std::span(moment.memory).first(count)) {
    out.byte(static_cast<std::uint8_t>(part.kind));
    out.text(std::string_view(part.name).substr(0, kMaxPartNameBytes));
    for (const std::uint64_t bytes : {part.mapped_bytes, part.resident_bytes, part.touched_bytes}) out.varint(bytes);
  }
}

bool decode_memory(std::span<const std::uint8_t> bytes, Moment& moment) {
  if (bytes.empty()) return true;
  ByteReader reader(bytes);
  moment.absent_bytes = reader.varint();
  moment.touches_known = reader.byte() == 1;
  const std::uint64_t count = reader.varint();
  if (reader.failed() || count > kMaxMemoryParts) return false;
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
    MemoryPart part;
    const std::uint8_t kind = reader.byte();
    if (kind == 0 || kind > static_cast<std::uint8_t>(kLastMemoryKind)) return false;
    part.kind = static_cast<MemoryKind>(kind);
    part.name = reader.text();
    for (std::uint64_t* value : {&part.mapped_bytes, &part.resident_bytes, &part.touched_bytes})
      *value = reader.varint();
    moment.memory.push_back(std::move(part));
  }
  return !reader.failed() && reader.at_end();
}

// False: the bytes contradict the record's fields.
bool unpack(ByteReader& reader, std::uint64_t raw, std::uint64_t packed, std::vector<std::uint8_t>& out) {
  const std::span<const std::uint8_t> bytes = reader.take(packed);
  if (reader.failed() || raw > kMaxColumnBytes) return false;
  if (raw == packed) {
    out.assign(bytes.begin(), bytes.end());
    return true;
  }
  // zstd's own record of the size must agree before memory is taken for it.
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != raw) return false;
  out.resize(raw);
  const std::size_t got = ZSTD_decompress(out.data(), raw, bytes.data(), bytes.size());
  return ZSTD_isError(got) == 0 && got == raw;
}

// A column that isn't there is all zeros.
struct Values {
  std::vector<std::uint8_t> bytes;
  ByteReader reader;
  void begin() { reader = ByteReader(bytes); }
  std::uint64_t next() { return bytes.empty() ? 0 : reader.varint(); }
  bool done() const { return bytes.empty() || (!reader.failed() && reader.at_end()); }
};

const char* decode_blocks(std::array<Values, kBlockColumns>& columns, std::uint64_t count, std::size_t shapes,
                          std::vector<Observation>& blocks) {
  std::uint64_t address = 0;
  std::uint64_t shape = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Observation block;
    const std::uint64_t step = columns[Addresses].next();
    address += step;
    if ((step == 0 && i > 0) || address < step) return "blocks of a moment aren't in order";
    block.address = address;
    shape += static_cast<std::uint64_t>(unzigzag(columns[Shapes].next()));
    if (shape > shapes) return "a moment refers to a shape that doesn't exist";
    block.shape = shape == 0 ? kNoShape : static_cast<ShapeId>(shape - 1);
    if (!columns[Digests].bytes.empty()) block.digest = columns[Digests].reader.fixed64();
    const std::uint8_t state = columns[States].bytes.empty() ? 0 : columns[States].reader.byte();
    if (state > 15) return "a moment has an impossible state of a block";
    block.content = static_cast<BlockContent>(state & 3);
    block.reach = static_cast<Reach>(state >> 2);
    const std::uint64_t starts = columns[StartPointers].next();
    const std::uint64_t interiors = columns[InteriorPointers].next();
    const std::uint64_t root = columns[LeakRoots].next();
    if (starts > kNoObservation || interiors > kNoObservation || root > kNoObservation)
      return "a moment has an impossible count";
    block.start_pointers = static_cast<std::uint32_t>(starts);
    block.interior_pointers = static_cast<std::uint32_t>(interiors);
    block.leak_root = root == 0 ? kNoObservation : static_cast<std::uint32_t>(root - 1);
    block.unchanged_ns = from_zero(columns[Unchanged].next());
    block.high_water_bytes = from_zero(columns[HighWater].next());
    blocks.push_back(block);
  }
  for (const Values& column : columns) {
    if (!column.done()) return "a column of a moment doesn't fit its blocks";
  }
  return nullptr;
}

}  // namespace

void encode_moment(const Moment& moment, std::size_t first, Packing packing, ByteWriter& out) {
  const std::size_t count = std::min(moment.blocks.size() - first, kMaxRecordObservations);
  out.byte(static_cast<std::uint8_t>(moment.kind));
  for (const std::uint64_t fact :
       {moment.stamp, moment.events_before, moment.frozen_ns, moment.cost_ns, moment.root_bytes, moment.unread_bytes}) {
    out.varint(fact);
  }
  out.text(std::string_view(moment.name).substr(0, kMaxPartNameBytes));
  out.varint(first);
  out.varint(count);
  Columns columns;
  fill(columns, std::span(moment.blocks).subspan(first, count));
  if (first == 0) fill_memory(columns[Memory], moment);
  out.varint(kBlockColumns);
  std::vector<std::uint8_t> packed;
  for (const ByteWriter& column : columns) {
    const std::span<const std::uint8_t> raw = column.bytes();
    std::span<const std::uint8_t> bytes;
    if (packing != Packing::Never) bytes = ZstdPacker::of_this_thread().pack(raw);
    if (bytes.empty()) bytes = raw;
    packed.insert(packed.end(), bytes.begin(), bytes.end());
    out.varint(raw.size());
    out.varint(bytes.size());
  }
  out.append(packed);
}

namespace {

struct ColumnSizes {
  std::uint64_t unpacked;
  std::uint64_t packed;
};

// Decodes the fields before the columns. Returns nullptr or the error.
const char* decode_facts(ByteReader& reader, Moment& moment, std::uint64_t& first, std::uint64_t& count,
                         std::vector<ColumnSizes>& columns) {
  const std::uint8_t kind = reader.byte();
  if (kind < static_cast<std::uint8_t>(MomentKind::Exit) || kind > static_cast<std::uint8_t>(MomentKind::Request))
    return "a moment has an impossible kind";
  moment.kind = static_cast<MomentKind>(kind);
  for (std::uint64_t* fact : {&moment.stamp, &moment.events_before, &moment.frozen_ns, &moment.cost_ns,
                              &moment.root_bytes, &moment.unread_bytes}) {
    *fact = reader.varint();
  }
  moment.name = reader.text();
  first = reader.varint();
  count = reader.varint();
  if (reader.failed() || moment.name.size() > kMaxPartNameBytes || count > kMaxRecordObservations)
    return "the facts of a moment can't be read";
  const std::uint64_t column_count = reader.varint();
  if (column_count < kLeastColumns || column_count > 64) return "a moment has an impossible number of columns";
  for (std::uint64_t i = 0; i < column_count; ++i) columns.push_back({reader.varint(), reader.varint()});
  return reader.failed() ? "the facts of a moment can't be read" : nullptr;
}

// Columns of later versions are passed over.
bool take_room(std::uint64_t count, std::span<const ColumnSizes> sizes, ExpansionBudget& budget) {
  std::uint64_t unpacked_bytes = 0;
  for (const ColumnSizes& column : sizes.first(std::min(sizes.size(), kBlockColumns))) {
    if (column.unpacked > kMaxColumnBytes) return false;
    unpacked_bytes += column.unpacked;
  }
  return budget.take(count, kObservationMemory, unpacked_bytes);
}

}  // namespace

bool take_moment(std::span<const std::uint8_t> payload, ExpansionBudget& budget) {
  ByteReader reader(payload);
  Moment moment;
  std::uint64_t first, count;
  std::vector<ColumnSizes> sizes;
  return decode_facts(reader, moment, first, count, sizes) == nullptr && take_room(count, sizes, budget);
}

const char* decode_moment(std::span<const std::uint8_t> payload, std::size_t shapes, ExpansionBudget& budget,
                          std::vector<Moment>& moments) {
  ByteReader reader(payload);
  Moment moment;
  std::uint64_t first, count;
  std::vector<ColumnSizes> sizes;
  if (const char* damage = decode_facts(reader, moment, first, count, sizes)) return damage;
  const bool continues = first > 0;
  if (continues && (moments.empty() || moments.back().blocks.size() != first || moments.back().kind != moment.kind ||
                    moments.back().events_before != moment.events_before)) {
    return "a moment goes on that didn't begin";
  }
  if (!take_room(count, sizes, budget)) return kExpandsTooFar;
  std::array<Values, kBlockColumns> columns;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i >= kBlockColumns) {
      reader.take(sizes[i].packed);
    } else if (!unpack(reader, sizes[i].unpacked, sizes[i].packed, columns[i].bytes)) {
      return "a column of a moment doesn't unpack to its size";
    }
  }
  if (reader.failed() || !reader.at_end()) return "a moment's record has another length than its columns";
  if (!decode_memory(columns[Memory].bytes, moment)) return "what a moment says of the process's memory can't be read";
  columns[Memory].bytes.clear();
  for (Values& column : columns) column.begin();
  // Every block has at least a byte in the first column: memory is bounded by the size of the record.
  if (columns[Addresses].bytes.size() < count || columns[Shapes].bytes.size() < count)
    return "a moment has fewer blocks than it says";
  std::vector<Observation> blocks;
  blocks.reserve(count);
  if (const char* damage = decode_blocks(columns, count, shapes, blocks)) return damage;
  if (continues) {
    std::vector<Observation>& all = moments.back().blocks;
    if (!blocks.empty() && blocks.front().address <= all.back().address) return "blocks of a moment aren't in order";
    all.insert(all.end(), blocks.begin(), blocks.end());
  } else {
    moment.blocks = std::move(blocks);
    moments.push_back(std::move(moment));
  }
  return nullptr;
}

}  // namespace tare::trace
