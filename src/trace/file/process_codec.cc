// Fields of Process and End records. Numbers are part of the format: never reuse one.
#include "trace/file/process_codec.h"

#include <algorithm>

#include "trace/file/memory_kill_codec.h"
#include "trace/file/sampling_codec.h"
#include "trace/spool/spool_layout.h"

#include <array>
#include <vector>

namespace tare::trace {

namespace {

enum class Field : std::uint64_t {
  Pid = 1,
  ParentPid = 2,
  ImageIndex = 3,
  PageBytes = 4,
  Allocator = 5,
  AllocatorPath = 6,
  Exe = 7,
  Cwd = 8,
  CommandLineWord = 9,   // repeated
  EnvironmentWord = 10,  // repeated
  Kernel = 11,
  Host = 12,
  StartRealtimeNs = 13,
  SampleBytes = 14,
  FreeStacks = 15,
  ForkParentPid = 16,  // present if the image was made by fork
  ForkParentImage = 17,
  ForkParentThread = 18,
  ForkParentThreadEvents = 19,
  ForkStamp = 20,
  ForkParentTrace = 21,
  EndedInOrder = 22,
  WaitStatus = 23,
  DroppedEvents = 24,
  TruncatedStacks = 25,
  UnwindFailures = 26,
  NestedEvents = 27,
  PeakRssBytes = 28,
  SpoolPath = 29,
  EventCount = 30,
  SpoolEvents = 31,
  ThreadCount = 32,
  MallocBypassed = 33,
  ContentsRecorded = 34,
  Moments = 35,
  SpoolBytes = 36,
  ReplacedByExec = 37,
  LauncherDied = 38,
  AsleepNs = 39,
  UnwindGap = 40,  // repeated
  Folded = 41,
  Segment = 42,
  SegmentSums = 43,
  ThreadPosition = 44,  // repeated
  MemoryReading = 45,
  ImportedFrom = 46,
  MissingFacts = 47,
  Python = 56,
  Title = 57,
  EarlierPeakBytes = 58,
  MemoryKill = 59,
  Sampling = 60,
};

class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter& out) : out_(out) {}
  void number(Field field, std::uint64_t value) {
    std::uint8_t bytes[kMaxVarintBytes];
    const std::uint8_t* end = put_varint(bytes, value);
    out_.varint(static_cast<std::uint64_t>(field));
    out_.varint(static_cast<std::uint64_t>(end - bytes));
    out_.append({bytes, end});
  }
  void numbers(Field field, std::initializer_list<std::uint64_t> values) {
    numbers(field, std::span<const std::uint64_t>(values.begin(), values.size()));
  }
  void numbers(Field field, std::span<const std::uint64_t> values) {
    ByteWriter packed;
    for (const std::uint64_t value : values) packed.varint(value);
    bytes(field, packed.bytes());
  }
  void bytes(Field field, std::span<const std::uint8_t> value) {
    out_.varint(static_cast<std::uint64_t>(field));
    out_.varint(value.size());
    out_.append(value);
  }
  void text(Field field, const std::string& value) {
    out_.varint(static_cast<std::uint64_t>(field));
    out_.text(value);
  }

 private:
  ByteWriter& out_;
};

// The order is the format's.
constexpr std::uint64_t SegmentSums::* kSegmentSums[] = {
    &SegmentSums::duration_ns,
    &SegmentSums::alloc_events,
    &SegmentSums::free_events,
    &SegmentSums::realloc_events,
    &SegmentSums::map_events,
    &SegmentSums::total_blocks,
    &SegmentSums::total_requested_bytes,
    &SegmentSums::total_usable_bytes,
    &SegmentSums::total_gross_bytes,
    &SegmentSums::peak_gross_bytes,
    &SegmentSums::peak_ns,
    &SegmentSums::dropped_events,
};

void put_segment(const Segment& segment, FieldWriter& fields) {
  fields.numbers(Field::Segment, {segment.number, segment.stamp, segment.continued ? 1u : 0u});
  std::vector<std::uint64_t> sums;
  for (const auto sum : kSegmentSums) sums.push_back(segment.before.*sum);
  fields.numbers(Field::SegmentSums, sums);
  for (const ThreadPosition& at : segment.positions) {
    fields.numbers(Field::ThreadPosition, std::array{std::uint64_t{at.thread}, at.made_events, at.last_stamp});
  }
}

// The order is the format's.
constexpr std::uint64_t MemoryReading::* kReadingSums[] = {
    &MemoryReading::stamp,        &MemoryReading::recorder_bytes,   &MemoryReading::file_bytes,
    &MemoryReading::shared_bytes, &MemoryReading::stack_bytes,      &MemoryReading::other_bytes,
    &MemoryReading::huge_bytes,   &MemoryReading::page_table_bytes,
};

void put_reading(const MemoryReading& reading, FieldWriter& fields) {
  std::vector<std::uint64_t> values;
  for (const auto sum : kReadingSums) values.push_back(reading.*sum);
  std::uint64_t end = 0;
  for (const ResidentPiece& piece : reading.pieces) {
    values.insert(values.end(),
                  {piece.start - end, piece.bytes, piece.resident_bytes, static_cast<std::uint64_t>(piece.kind)});
    end = piece.start + piece.bytes;
  }
  fields.numbers(Field::MemoryReading, values);
}

// Pieces up to the first that can't be.
MemoryReading reading_of(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  MemoryReading reading;
  for (const auto sum : kReadingSums) reading.*sum = reader.varint();
  std::uint64_t end = 0;
  while (!reader.at_end() && reading.pieces.size() < MemoryReading::kMostPieces) {
    ResidentPiece piece;
    const std::uint64_t gap = reader.varint();
    piece.start = end + gap;
    piece.bytes = reader.varint();
    piece.resident_bytes = reader.varint();
    const std::uint64_t kind = reader.varint();
    const bool fits =
        piece.start >= end && piece.bytes <= UINT64_MAX - piece.start && piece.resident_bytes <= piece.bytes;
    if (reader.failed() || !fits || kind > static_cast<std::uint64_t>(kLastRangeKind)) break;
    piece.kind = static_cast<RangeKind>(kind);
    end = piece.start + piece.bytes;
    reading.pieces.push_back(piece);
  }
  return reading;
}

// Adds only valid positions: each thread once, ascending.
void add_position(std::span<const std::uint8_t> bytes, std::vector<ThreadPosition>& positions) {
  ByteReader reader(bytes);
  const std::uint64_t thread = reader.varint();
  const std::uint64_t made_events = reader.varint();
  const std::uint64_t last_stamp = reader.varint();
  const bool follows = positions.empty() || thread > positions.back().thread;
  if (reader.failed() || thread >= kMaxThreads || !follows) return;
  positions.push_back({static_cast<std::uint32_t>(thread), made_events, last_stamp});
}

}  // namespace

void encode_process(const ProcessRecord& record, ByteWriter& out) {
  const ProcessInfo& info = record.info;
  FieldWriter fields(out);
  fields.number(Field::Pid, info.pid);
  fields.number(Field::ParentPid, info.parent_pid);
  fields.number(Field::ImageIndex, info.image_index);
  fields.number(Field::PageBytes, info.page_bytes);
  fields.number(Field::Allocator, static_cast<std::uint64_t>(info.allocator));
  fields.text(Field::AllocatorPath, info.allocator_path);
  fields.text(Field::Exe, info.exe);
  fields.text(Field::Cwd, info.cwd);
  for (const std::string& word : info.command_line) fields.text(Field::CommandLineWord, word);
  for (const std::string& word : info.environment) fields.text(Field::EnvironmentWord, word);
  fields.text(Field::Kernel, info.kernel);
  fields.text(Field::Host, info.host);
  fields.number(Field::StartRealtimeNs, info.start_realtime_ns);
  fields.number(Field::SampleBytes, info.sample_bytes);
  if (info.sampling) fields.bytes(Field::Sampling, encode_sampling(*info.sampling));
  fields.number(Field::FreeStacks, info.free_stacks ? 1 : 0);
  if (info.fork) {
    fields.number(Field::ForkParentPid, info.fork->parent_pid);
    fields.number(Field::ForkParentImage, info.fork->parent_image);
    fields.number(Field::ForkParentThread, info.fork->parent_thread);
    fields.number(Field::ForkParentThreadEvents, info.fork->parent_thread_events);
    fields.number(Field::ForkStamp, info.fork->stamp);
    fields.text(Field::ForkParentTrace, info.fork->parent_trace);
  }
  fields.number(Field::EndedInOrder, info.ended_in_order ? 1 : 0);
  if (info.wait_status) fields.number(Field::WaitStatus, static_cast<std::uint32_t>(*info.wait_status));
  fields.number(Field::DroppedEvents, info.dropped_events);
  fields.number(Field::TruncatedStacks, info.truncated_stacks);
  fields.number(Field::UnwindFailures, info.unwind_failures);
  fields.number(Field::NestedEvents, info.nested_events);
  if (info.python != 0) fields.number(Field::Python, info.python);
  if (!info.title.empty()) fields.text(Field::Title, info.title);
  fields.number(Field::PeakRssBytes, info.peak_rss_bytes);
  if (info.earlier_peak_bytes != 0) fields.number(Field::EarlierPeakBytes, info.earlier_peak_bytes);
  if (!record.spool_path.empty()) fields.text(Field::SpoolPath, record.spool_path);
  fields.number(Field::EventCount, record.event_count);
  fields.number(Field::SpoolEvents, record.spool_events);
  fields.number(Field::ThreadCount, record.thread_count);
  fields.number(Field::MallocBypassed, info.malloc_bypassed ? 1 : 0);
  if (info.contents_recorded) fields.number(Field::ContentsRecorded, 1);
  if (info.moments != 0) fields.number(Field::Moments, info.moments);
  if (info.spool_bytes != 0) fields.number(Field::SpoolBytes, info.spool_bytes);
  if (info.replaced_by_exec) fields.number(Field::ReplacedByExec, 1);
  if (info.launcher_died) fields.number(Field::LauncherDied, 1);
  if (info.asleep_ns) fields.number(Field::AsleepNs, *info.asleep_ns);
  if (info.memory_kill) fields.bytes(Field::MemoryKill, encode_memory_kill(*info.memory_kill));
  if (const FoldedCounts& folded = info.folded; folded != FoldedCounts{}) {
    fields.numbers(Field::Folded, {folded.cut_stacks, folded.no_stacks, folded.sizes, folded.rounding_bytes});
  }
  for (const UnwindGapCount& gap : info.unwind_gaps) fields.numbers(Field::UnwindGap, {index(gap.row), gap.stacks});
  if (!info.imported_from.empty()) fields.text(Field::ImportedFrom, info.imported_from);
  if (!info.missing_facts.empty()) fields.text(Field::MissingFacts, info.missing_facts);
  if (info.segment) put_segment(*info.segment, fields);
  if (info.reading) put_reading(*info.reading, fields);
}

bool decode_process(std::span<const std::uint8_t> payload, ProcessRecord& record) {
  ByteReader reader(payload);
  ProcessInfo& info = record.info;
  info.command_line.clear();
  info.environment.clear();
  info.unwind_gaps.clear();
  if (info.segment) info.segment->positions.clear();
  const auto fork = [&]() -> ForkOrigin& { return info.fork ? *info.fork : info.fork.emplace(); };
  const auto segment = [&]() -> Segment& { return info.segment ? *info.segment : info.segment.emplace(); };
  while (!reader.at_end()) {
    const Field field = static_cast<Field>(reader.varint());
    const std::span<const std::uint8_t> bytes = reader.take(reader.varint());
    if (reader.failed()) return false;
    const auto text = [&] { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
    const auto number = [&] { return ByteReader(bytes).varint(); };
    const auto number32 = [&] { return static_cast<std::uint32_t>(number()); };
    switch (field) {
      case Field::Pid:
        info.pid = number32();
        break;
      case Field::ParentPid:
        info.parent_pid = number32();
        break;
      case Field::ImageIndex:
        info.image_index = number32();
        break;
      case Field::PageBytes:
        info.page_bytes = number32();
        break;
      case Field::Allocator:
        info.allocator = static_cast<AllocatorKind>(number32());
        break;
      case Field::AllocatorPath:
        info.allocator_path = text();
        break;
      case Field::Exe:
        info.exe = text();
        break;
      case Field::Cwd:
        info.cwd = text();
        break;
      case Field::CommandLineWord:
        info.command_line.push_back(text());
        break;
      case Field::EnvironmentWord:
        info.environment.push_back(text());
        break;
      case Field::Kernel:
        info.kernel = text();
        break;
      case Field::Host:
        info.host = text();
        break;
      case Field::StartRealtimeNs:
        info.start_realtime_ns = number();
        break;
      case Field::SampleBytes:
        info.sample_bytes = number();
        break;
      case Field::Sampling:
        info.sampling = decode_sampling(bytes);
        break;
      case Field::FreeStacks:
        info.free_stacks = number() != 0;
        break;
      case Field::ForkParentPid:
        fork().parent_pid = number32();
        break;
      case Field::ForkParentImage:
        fork().parent_image = number32();
        break;
      case Field::ForkParentThread:
        fork().parent_thread = number32();
        break;
      case Field::ForkParentThreadEvents:
        fork().parent_thread_events = number();
        break;
      case Field::ForkStamp:
        fork().stamp = number();
        break;
      case Field::ForkParentTrace:
        fork().parent_trace = text();
        break;
      case Field::EndedInOrder:
        info.ended_in_order = number() != 0;
        break;
      case Field::WaitStatus:
        info.wait_status = static_cast<int>(number32());
        break;
      case Field::ReplacedByExec:
        info.replaced_by_exec = number() != 0;
        break;
      case Field::LauncherDied:
        info.launcher_died = number() != 0;
        break;
      case Field::DroppedEvents:
        info.dropped_events = number();
        break;
      case Field::TruncatedStacks:
        info.truncated_stacks = number();
        break;
      case Field::UnwindFailures:
        info.unwind_failures = number();
        break;
      case Field::Python:
        info.python = static_cast<std::uint32_t>(number());
        break;
      case Field::Title:
        info.title = text();
        break;
      case Field::NestedEvents:
        info.nested_events = number();
        break;
      case Field::PeakRssBytes:
        info.peak_rss_bytes = number();
        break;
      case Field::EarlierPeakBytes:
        info.earlier_peak_bytes = number();
        break;
      case Field::SpoolPath:
        record.spool_path = text();
        break;
      case Field::EventCount:
        record.event_count = number();
        break;
      case Field::SpoolEvents:
        record.spool_events = number();
        break;
      case Field::ThreadCount:
        record.thread_count = number32();
        break;
      case Field::MallocBypassed:
        info.malloc_bypassed = number() != 0;
        break;
      case Field::ContentsRecorded:
        info.contents_recorded = number() != 0;
        break;
      case Field::Moments:
        info.moments = number32();
        break;
      case Field::SpoolBytes:
        info.spool_bytes = number();
        break;
      case Field::AsleepNs:
        info.asleep_ns = number();
        break;
      case Field::MemoryKill:
        info.memory_kill = decode_memory_kill(bytes);
        break;
      case Field::Folded: {
        ByteReader counts(bytes);
        for (std::uint64_t* count :
             {&info.folded.cut_stacks, &info.folded.no_stacks, &info.folded.sizes, &info.folded.rounding_bytes}) {
          *count = counts.varint();
        }
        break;
      }
      case Field::Segment: {
        ByteReader numbers(bytes);
        segment().number = static_cast<std::uint32_t>(numbers.varint());
        segment().stamp = numbers.varint();
        segment().continued = numbers.varint() != 0;
        break;
      }
      case Field::SegmentSums: {
        ByteReader sums(bytes);
        for (const auto sum : kSegmentSums) segment().before.*sum = sums.varint();
        break;
      }
      case Field::ImportedFrom:
        info.imported_from = text();
        break;
      case Field::MissingFacts:
        info.missing_facts = text();
        break;
      case Field::ThreadPosition:
        add_position(bytes, segment().positions);
        break;
      case Field::MemoryReading:
        info.reading = reading_of(bytes);
        break;
      case Field::UnwindGap: {
        ByteReader gap(bytes);
        const auto row = static_cast<RowId>(std::min<std::uint64_t>(gap.varint(), kMaxRows));
        info.unwind_gaps.push_back({row, gap.varint()});
        break;
      }
    }
  }
  return true;
}

}  // namespace tare::trace
