// Costs of turning a spool into a trace: nanoseconds and bytes an event, by step and by column.
// spool_cost FILE.spool [CHUNKS]
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "trace/base/byte_stream.h"
#include "trace/file/dictionary_codec.h"
#include "trace/file/event_columns.h"
#include "trace/open/block_packer.h"
#include "trace/spool/spool_file.h"

namespace {

double cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct ColumnBytes {
  std::uint64_t raw = 0, packed = 0;
};

// The sizes that a payload lists before its columns.
void add_columns(std::span<const std::uint8_t> payload, ColumnBytes* columns) {
  tare::trace::ByteReader reader(payload);
  for (int i = 0; i < 12; ++i) reader.varint();
  const std::uint64_t count = reader.varint();
  for (std::uint64_t i = 0; i < count; ++i) {
    columns[i].raw += reader.varint();
    columns[i].packed += reader.varint();
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tare::trace;
  if (argc < 2) return 2;
  auto spool = SpoolFile::open(argv[1]);
  if (!spool) return std::fprintf(stderr, "%s\n", spool.error().message.c_str()), 1;
  const auto counts = spool->counts();
  const auto chunks = spool->chunks(*counts);
  Dictionary dictionary;
  if (!spool->grow(*counts, dictionary)) return 1;
  SpoolDecoder decoder(dictionary);
  EventBlockEncoder encoder;
  EventBlockDecoder block_decoder;
  std::map<std::uint32_t, BlockPacker> packers;
  std::uint32_t used_shapes = 0;
  std::vector<std::uint64_t> words;
  EventBuffer back;
  double read_s = 0, decode_s = 0, encode_s = 0, dictionary_s = 0, unpack_s = 0;
  std::uint64_t events = 0, calls = 0, block_bytes = 0, dictionary_bytes = 0, blocks = 0, mismatches = 0;
  DictionaryCounts written;
  ColumnBytes columns[kColumns];
  const auto end_block = [&](BlockPacker& packer) {
    if (packer.pending.empty()) return;
    const std::span<const Event> pending = packer.pending;
    const std::vector<Event> copy(pending.begin(), pending.end());
    events += copy.size();
    for (const Event& event : copy) calls += event.kind < EventKind::ThreadStart && event.kind != EventKind::ReallocEnd;
    double start = cpu_s();
    const auto payload = packer.pack(encoder, dictionary, used_shapes);
    encode_s += cpu_s() - start;
    block_bytes += payload.size() + 16;
    ++blocks;
    add_columns(payload, columns);
    start = cpu_s();
    ByteWriter growth;
    const auto grow = [&](std::size_t& from, std::size_t to, auto encode) {
      if (from < to) encode(dictionary, from, to, Packing::Smallest, growth);
      from = to;
    };
    grow(written.modules, dictionary.modules.size(), encode_modules);
    grow(written.rows, dictionary.rows.size(), encode_rows);
    grow(written.stacks, dictionary.stacks.size(), encode_stacks);
    grow(written.shapes, dictionary.shapes.size(), encode_shapes);
    dictionary_bytes += growth.bytes().size() + 64;
    dictionary_s += cpu_s() - start;
    back.clear();
    start = cpu_s();
    const char* damage = block_decoder.decode(payload, dictionary, back);
    unpack_s += cpu_s() - start;
    if (damage != nullptr || back.size() != copy.size() ||
        std::memcmp(back.data(), copy.data(), copy.size() * sizeof(Event)) != 0) {
      ++mismatches;
    }
  };
  std::uint64_t chunks_left = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : ~std::uint64_t{0};
  for (const ChunkFacts& chunk : *chunks) {
    if (chunks_left-- == 0) break;
    BlockPacker& packer = packers[chunk.thread];
    packer.thread = chunk.thread;
    packer.decode.thread = static_cast<std::uint16_t>(chunk.thread);
    double start = cpu_s();
    if (!spool->read_words(chunk.chunk, 0, chunk.committed / 8, words)) return 1;
    read_s += cpu_s() - start;
    packer.decode.open_chunk(chunk.first_event, chunk.open_stamp);
    start = cpu_s();
    if (const auto damage = decoder.decode(packer.decode, words, packer.pending))
      std::fprintf(stderr, "%s\n", damage.what);
    decode_s += cpu_s() - start;
    if (packer.pending.size() >= kBlockEvents) end_block(packer);
  }
  for (auto& [thread, packer] : packers) end_block(packer);
  const double n = static_cast<double>(calls);
  const auto ns = [&](double seconds) { return seconds * 1e9 / n; };
  std::printf("calls %lu events %lu threads %zu blocks %lu stacks %zu shapes %zu rows %zu mismatches %lu\n", calls,
              events, packers.size(), blocks, dictionary.stacks.size(), dictionary.shapes.size(),
              dictionary.rows.size(), mismatches);
  std::printf("ns/call: read %.1f decode %.1f encode %.1f dictionary %.1f | unpack %.1f\n", ns(read_s), ns(decode_s),
              ns(encode_s), ns(dictionary_s), ns(unpack_s));
  std::printf("bytes/call: %.3f = blocks %.3f + dictionary %.3f\n",
              static_cast<double>(block_bytes + dictionary_bytes) / n, static_cast<double>(block_bytes) / n,
              static_cast<double>(dictionary_bytes) / n);
  const char* names[kColumns] = {"event codes", "symbol values", "alloc values", "free values", "stamp steps",
                                 "stamp rests", "maps",          "notes",        "free stacks"};
  for (int i = 0; i < kColumns; ++i) {
    std::printf("  %-14s raw %.3f packed %.3f\n", names[i], static_cast<double>(columns[i].raw) / n,
                static_cast<double>(columns[i].packed) / n);
  }
  return 0;
}
