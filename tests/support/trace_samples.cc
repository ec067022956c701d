// Small traces with known contents: see trace_samples.h.
#include "support/trace_samples.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "trace/open/block_packer.h"
#include "trace/spool/spool_file.h"

namespace tare::test {

using namespace trace;

namespace {

template <typename T>
T must(Result<T> result) {
  if (!result) std::abort();
  return std::move(*result);
}

Dictionary new_dictionary() {
  Dictionary dictionary;
  dictionary.stacks.push_back({kEmptyStack, RowId{0}});
  return dictionary;
}

Shape shape(std::uint32_t stack, AllocApi api, std::uint64_t requested, std::uint64_t usable) {
  return {StackId{stack}, api, 0, 0, 0, requested, usable, 1};
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

namespace {

void write_example(const std::string& path, const std::vector<Moment>& moments) {
  TraceWriter writer = must(TraceWriter::create(path));
  ProcessRecord record;
  record.info.pid = 42;
  record.info.parent_pid = 41;
  record.info.allocator = AllocatorKind::Glibc;
  record.info.exe = "/bin/app";
  record.info.cwd = "/";
  record.info.command_line = {"app", "-v"};
  record.info.start_realtime_ns = 1'700'000'000'000'000'000;
  writer.put_process(record);

  Dictionary dictionary = new_dictionary();
  dictionary.modules.push_back({0x400000, 0x400000, 0x402000, "/bin/app", {0xab, 0xcd}, 0});
  dictionary.rows = {0x401000, 0x401234};               // both in module 0
  dictionary.stacks.push_back({StackId{0}, RowId{0}});  // 1: main
  dictionary.stacks.push_back({StackId{1}, RowId{1}});  // 2: what it calls
  dictionary.shapes.push_back(shape(2, AllocApi::Malloc, 100, 104));
  writer.put_growth(dictionary);
  const ClockPair pair{1000, 5'000'000};
  writer.put_clock({&pair, 1});

  const Event events[] = {
      {1000, 0x6002a0, ShapeId{0}, 0, EventKind::Alloc, 0},
      {1000, 0x600310, ShapeId{0}, 0, EventKind::Alloc, 0},
      {1300, 0x6002a0, kNoShape, 0, EventKind::Free, static_cast<std::uint8_t>(FreeApi::Free)},
  };
  BlockHeader header;
  header.spool_events = 3;
  std::uint32_t used_shapes = 0;
  EventBlockEncoder encoder;
  writer.put_events(encoder.encode(header, events, dictionary, used_shapes));
  for (const Moment& moment : moments) writer.put_moment(moment);
  record.info.moments = static_cast<std::uint32_t>(moments.size());
  record.info.ended_in_order = true;
  record.info.wait_status = 0;
  record.event_count = record.spool_events = 3;
  record.thread_count = 1;
  writer.put_end(record);
  if (!writer.flush()) std::abort();
}

}  // namespace

void write_example_trace(const std::string& path) { write_example(path, {}); }

std::vector<Moment> moments_of_example() {
  Moment peak;
  peak.kind = MomentKind::Peak;
  peak.stamp = 1200;
  peak.events_before = 2;
  peak.frozen_ns = 3'000'000;
  peak.cost_ns = 2'000'000;
  peak.root_bytes = 70'000;
  Observation first;
  first.address = 0x6002a0;
  first.digest = 0x0123456789abcdef;
  first.high_water_bytes = 0;
  first.shape = ShapeId{0};
  first.start_pointers = 1;
  first.interior_pointers = 200;
  first.content = BlockContent::Other;
  first.reach = Reach::Start;
  Observation second;  // a leak that couldn't be read
  second.address = 0x600310;
  second.shape = ShapeId{0};
  second.leak_root = 1;
  second.reach = Reach::None;
  peak.blocks = {first, second};
  peak.unread_bytes = 100;
  Moment exit;
  exit.stamp = 1400;
  exit.events_before = 3;
  exit.name = "last";
  Observation text;
  text.address = 0x600310;
  text.digest = ~std::uint64_t{0};
  text.unchanged_ns = 77;
  text.content = BlockContent::Text;  // of a block without a shape here: unmarked
  exit.blocks = {text};
  return {peak, exit};
}

// By its own dictionary, whose ids differ from the segment's.
LiveSet live_in_segment() {
  LiveSet live;
  live.dictionary = new_dictionary();
  live.dictionary.modules.push_back({0x400000, 0x400000, 0x402000, "/bin/app", {0xab, 0xcd}, 0});
  live.dictionary.modules.push_back({0x7f0000000000, 0x7f0000000000, 0x7f0000010000, "/lib/gone.so", {}, 3});
  live.dictionary.rows = {0x401000, 0x7f0000001234 | std::uint64_t{1} << 48};
  live.dictionary.stacks.push_back({StackId{0}, RowId{0}});
  live.dictionary.stacks.push_back({StackId{1}, RowId{1}});
  live.dictionary.shapes.push_back(shape(2, AllocApi::Calloc, 24, 24));
  live.dictionary.shapes.push_back(shape(1, AllocApi::Malloc, 100, 104));
  live.dictionary.shapes[1].weight = 2.5;
  for (std::uint64_t i = 0; i < 40; ++i)
    live.blocks.push_back({0x600000 + i * 112, static_cast<ShapeId>(static_cast<std::uint32_t>(i % 2))});
  live.mappings = {
      {0x7f1000000000, 0x7f1000004000}, {0x7f1000004000, 0x7f1000005000}, {0x7f2000000000, 0x7f2000100000}};
  return live;
}

void write_segment_trace(const std::string& path) {
  TraceWriter writer = must(TraceWriter::create(path));
  ProcessRecord record;
  record.info.pid = 42;
  record.info.parent_pid = 41;
  record.info.allocator = AllocatorKind::Glibc;
  record.info.exe = "/bin/app";
  record.info.cwd = "/";
  record.info.command_line = {"app", "-v"};
  record.info.start_realtime_ns = 1'700'000'000'000'000'000;
  record.info.segment = {2, 5000, true, {}, {{0, 70, 4990}, {3, 1, 4000}}};
  record.info.segment->before = {1'000'000'000, 60, 20, 3, 4, 63, 6300, 6552, 7056, 5000, 900'000'000, 1};
  writer.put_process(record);
  writer.put_live(live_in_segment());
  Dictionary dictionary = new_dictionary();
  dictionary.modules.push_back({0x400000, 0x400000, 0x402000, "/bin/app", {0xab, 0xcd}, 0});
  dictionary.rows = {0x401234};
  dictionary.stacks.push_back({StackId{0}, RowId{0}});
  dictionary.shapes.push_back(shape(1, AllocApi::Malloc, 48, 56));
  writer.put_growth(dictionary);
  const ClockPair pairs[] = {{5000, 1'005'000'000}, {6000, 1'005'000'500}};
  writer.put_clock(pairs);
  const Event events[] = {
      {5000, 0x600070, kNoShape, 0, EventKind::Free, static_cast<std::uint8_t>(FreeApi::Free)},
      {5100, 0x600070, ShapeId{0}, 0, EventKind::Alloc, 0},
  };
  BlockHeader header;
  header.first_event = 71;
  header.spool_events = 2;
  std::uint32_t used_shapes = 0;
  EventBlockEncoder encoder;
  writer.put_events(encoder.encode(header, events, dictionary, used_shapes));
  record.event_count = record.spool_events = 2;
  record.thread_count = 4;
  writer.put_end(record);
  if (!writer.flush()) std::abort();
}

void write_observed_trace(const std::string& path) { write_example(path, moments_of_example()); }

void write_rich_trace(const std::string& path) {
  TraceWriter writer = must(TraceWriter::create(path));
  ProcessRecord record;
  record.info.pid = 4712;
  record.info.parent_pid = 4711;
  record.info.image_index = 3;
  record.info.page_bytes = 16384;
  record.info.allocator = AllocatorKind::Jemalloc;
  record.info.allocator_path = "/usr/lib/libjemalloc.so.2";
  record.info.exe = "/opt/rich";
  record.info.cwd = "/srv";
  record.info.command_line = {"rich", "", "three"};
  record.info.title = "rich: worker";
  record.info.environment = {"A=1", "B="};
  record.info.kernel = "6.1.0-13-amd64";
  record.info.host = "box";
  record.info.start_realtime_ns = 1'700'000'000'000'000'001;
  record.info.sample_bytes = 4096;
  record.info.free_stacks = true;
  record.info.fork = ForkOrigin{4711, 1, 2, 999, 123456789, "parent.tare"};
  writer.put_process(record);

  Dictionary dictionary = new_dictionary();
  dictionary.modules.push_back({0x1000, 0x1000, 0x9000, "/opt/rich", std::vector<std::uint8_t>(20, 7), 1});
  dictionary.modules.push_back({0, 0x7fff'0000'0000, 0x7fff'0000'2000, "[vdso]", {}, 0});
  for (std::uint64_t i = 0; i < 40; ++i) dictionary.rows.push_back((0x2000 + i * 17) | (i % 2) << 48);
  dictionary.rows.push_back(0x7f00'1234'5678 | std::uint64_t{0xffff} << 48);
  for (std::uint32_t i = 0; i < 40; ++i) dictionary.stacks.push_back({StackId{i % 7 == 0 ? 0 : i}, RowId{i}});
  for (std::uint32_t code = 1; code < 32; ++code) {
    if ((kKnownAllocApis >> code & 1) == 0) continue;
    Shape one = shape(code, static_cast<AllocApi>(code), std::uint64_t{1} << code, (std::uint64_t{1} << code) + 8);
    one.align_log2 = static_cast<std::uint8_t>(code % 13);
    one.weight = code % 3 == 0 ? 17.25 : 1;
    dictionary.shapes.push_back(one);
  }
  const std::uint32_t first_map = static_cast<std::uint32_t>(dictionary.shapes.size());
  for (std::uint32_t code = 1; code < 32; ++code) {
    if ((kKnownMapApis >> code & 1) == 0) continue;
    Shape one = shape(code, static_cast<AllocApi>(code), 4096 * code, 4096 * code);
    one.is_map = 1;
    dictionary.shapes.push_back(one);
  }
  writer.put_growth(dictionary);
  const ClockPair pairs[] = {{1'000'000, 77}, {3'000'000, 1'000'077}, {9'000'000, 4'000'077}};
  writer.put_clock(pairs);

  EventBlockEncoder encoder;
  std::uint32_t used_shapes = 0;
  record.event_count = record.spool_events = 0;
  for (std::uint32_t thread = 0; thread < 2; ++thread) {
    EventBuffer events;
    std::uint64_t stamp = 1'000'000 + thread * 50, spool_events = 0;
    const auto add = [&](EventKind kind, std::uint64_t address, std::uint32_t shape_id, std::uint8_t api) {
      events.push_back({stamp += 100, address, ShapeId{shape_id}, static_cast<std::uint16_t>(thread), kind, api});
      spool_events += kind != EventKind::ReallocStart;
    };
    const std::uint32_t none = index(kNoShape);
    add(EventKind::ThreadStart, 4712 + thread, none, 0);
    for (std::uint32_t i = 0; i < first_map; ++i)
      add(EventKind::Alloc, 0x5000'0000 + thread * 0x100000 + i * 4099, i, 0);
    for (std::uint32_t i = first_map; i < dictionary.shapes.size(); ++i) {
      add(i % 2 == 0 ? EventKind::Map : EventKind::Unmap, 0x7f00'0000'0000 + i * 4096, i, 0);
    }
    for (std::uint32_t i = 0; i < first_map; i += 2) {
      add(EventKind::ReallocEnd, 0x5000'0000 + thread * 0x100000 + i * 4099, none, 0);
      add(EventKind::ReallocStart, 0x6000'0000 + thread * 0x100000 + i * 64, (i + 1) % first_map, 0);
    }
    for (std::uint8_t api = 1; api < 32; ++api) {
      if ((kKnownFreeApis >> api & 1) == 0) continue;
      add(EventKind::Free, 0x5000'0000 + thread * 0x100000 + (api * 2 - 1u) * 4099, api,
          api);  // `shape` is a StackId here
    }
    add(EventKind::Fork, 5000, none, 0);
    add(EventKind::Mark, ~std::uint64_t{0}, none, 0);
    add(EventKind::Usable, 0x5000'0000, none, 0);
    add(EventKind::Dropped, 12, none, 0);
    add(EventKind::Exec, 0, none, 0);
    add(EventKind::ThreadEnd, 0, none, 0);
    BlockHeader header;
    header.thread = thread;
    header.spool_events = spool_events;
    writer.put_events(encoder.encode(header, events, dictionary, used_shapes));
    record.event_count += events.size();
    record.spool_events += spool_events;
  }
  record.info.wait_status = 9;
  record.info.sampling = SamplingUse{3, SamplingLimit::Disk, 1'500'000'000, 5'000'000, 2'000'000'000};
  record.info.memory_kill = MemoryKill{"/sys/fs/cgroup/rich", true, 2, 300, 1, std::uint64_t{1} << 33};
  record.info.dropped_events = 24;
  record.info.truncated_stacks = 1;
  record.info.unwind_failures = 2;
  record.info.unwind_gaps = {{RowId{0}, 5}, {RowId{1}, 70'000}};
  record.info.nested_events = 3;
  record.info.peak_rss_bytes = 1 << 30;
  record.info.earlier_peak_bytes = 1 << 29;
  record.info.spool_bytes = 1 << 23;
  record.info.asleep_ns = 77;
  record.thread_count = 2;
  writer.put_end(record);
  if (!writer.flush()) std::abort();
}

void write_trace_of_spool(const std::string& spool_path, const std::string& path, std::size_t chunks, Ending ending) {
  const SpoolFile spool = must(SpoolFile::open(spool_path));
  const SpoolCounts counts = must(spool.counts());
  TraceWriter writer = must(TraceWriter::create(path));
  ProcessRecord record;
  record.info = must(spool.process());
  record.spool_path = spool_path;
  writer.put_process(record);
  Dictionary dictionary;
  if (!spool.grow(counts, dictionary)) std::abort();
  SpoolDecoder decoder(dictionary, [&spool](StringRef ref) { return spool.string_at(ref); });
  EventBlockEncoder encoder;
  std::uint32_t used_shapes = 0;
  std::map<std::uint32_t, BlockPacker> packers;
  std::vector<std::uint64_t> words;
  std::vector<ChunkFacts> all = must(spool.chunks(counts));
  for (const ChunkFacts& chunk : all) {
    if (chunk.chunk >= chunks) continue;  // in the order they were opened
    BlockPacker& packer = packers[chunk.thread];
    packer.thread = chunk.thread;
    packer.decode.thread = static_cast<std::uint16_t>(chunk.thread);
    packer.decode.open_chunk(chunk.first_event, chunk.open_stamp);
    packer.first_chunk = packer.last_chunk = chunk.thread_chunk;
    if (!spool.read_words(chunk.chunk, 0, chunk.committed / 8, words)) std::abort();
    if (decoder.decode(packer.decode, words, packer.pending)) std::abort();
    const auto payload = packer.pack(encoder, dictionary, used_shapes);
    writer.put_growth(dictionary);
    const ClockPair pair{chunk.open_stamp, chunk.open_monotonic_ns};
    writer.put_clock({&pair, 1});
    writer.put_events(payload);
  }
  if (ending == Ending::End) writer.put_end(record);
  if (!writer.flush()) std::abort();
}

}  // namespace tare::test
