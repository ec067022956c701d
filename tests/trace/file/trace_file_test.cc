// Trace files cut and damaged at every byte: what lies before is read, the rest is one clear error.
#include "trace/file/trace_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "support/spool_script.h"
#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/file/expected_events.h"
#include "trace/file/record.h"
#include "trace/open/finish_leftover.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

using trace::open_trace;

std::vector<trace::Event> events_of(const trace::OpenedTrace& opened, Status* status = nullptr) {
  CollectingSink sink;
  Status result = opened.replay_into(sink);
  if (status != nullptr) *status = std::move(result);
  return sink.all;
}

// Offsets where records begin, and the end of the file.
std::vector<std::size_t> record_offsets(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::size_t> offsets;
  for (std::size_t at = trace::kFileHeaderBytes; at < bytes.size();) {
    offsets.push_back(at);
    std::uint32_t length;
    std::memcpy(&length, bytes.data() + at + 4, 4);
    at += trace::kRecordHeaderBytes + length;
  }
  offsets.push_back(bytes.size());
  return offsets;
}

TEST(TraceFile, RichTraceRoundTrip) {
  TempDir dir;
  write_rich_trace(dir / "rich.tare");
  auto opened = open_trace(dir / "rich.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->complete());
  EXPECT_TRUE(opened->warnings().empty());
  EXPECT_EQ(opened->thread_count(), 2u);
  const trace::ProcessInfo& info = opened->info();
  EXPECT_EQ(info.pid, 4712u);
  EXPECT_EQ(info.image_index, 3u);
  EXPECT_EQ(info.page_bytes, 16384u);
  EXPECT_EQ(info.allocator, trace::AllocatorKind::Jemalloc);
  EXPECT_EQ(info.command_line, (std::vector<std::string>{"rich", "", "three"}));
  EXPECT_EQ(info.title, "rich: worker");
  EXPECT_EQ(info.environment, (std::vector<std::string>{"A=1", "B="}));
  EXPECT_EQ(info.sample_bytes, 4096u);
  EXPECT_TRUE(info.free_stacks);
  ASSERT_TRUE(info.fork);
  EXPECT_EQ(info.fork->parent_thread_events, 999u);
  EXPECT_EQ(info.fork->parent_trace, "parent.tare");
  EXPECT_EQ(info.wait_status, 9);
  EXPECT_EQ(info.sampling,
            (trace::SamplingUse{3, trace::SamplingLimit::Disk, 1'500'000'000, 5'000'000, 2'000'000'000}));
  EXPECT_EQ(info.memory_kill, (trace::MemoryKill{"/sys/fs/cgroup/rich", true, 2, 300, 1, std::uint64_t{1} << 33}));
  EXPECT_EQ(info.dropped_events, 24u);
  EXPECT_EQ(info.peak_rss_bytes, 1u << 30);
  EXPECT_EQ(info.earlier_peak_bytes, 1u << 29);
  EXPECT_EQ(info.spool_bytes, 1u << 23);
  EXPECT_EQ(info.asleep_ns, 77u);
  ASSERT_EQ(info.unwind_gaps.size(), 2u);
  EXPECT_EQ(info.unwind_gaps[0].stacks, 5u);
  EXPECT_EQ(index(info.unwind_gaps[1].row), 1u);
  EXPECT_EQ(info.unwind_gaps[1].stacks, 70'000u);
  EXPECT_EQ(opened->dictionary().modules.size(), 2u);
  EXPECT_EQ(opened->dictionary().modules[0].build_id, std::vector<std::uint8_t>(20, 7));
  EXPECT_EQ(opened->dictionary().rows.size(), 41u);
  EXPECT_EQ(trace::row_module(opened->dictionary().rows[40]), trace::kNoModule);
  const auto events = events_of(*opened);
  EXPECT_EQ(events.size(), opened->event_count());
  EXPECT_TRUE(
      std::is_sorted(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.stamp < b.stamp; }));
  EXPECT_EQ(events.front().kind, trace::EventKind::ThreadStart);
  EXPECT_EQ(events.back().kind, trace::EventKind::ThreadEnd);
}

TEST(TraceFile, CutAnywhereGivesWhatLiesBefore) {
  TempDir dir;
  write_rich_trace(dir / "whole.tare");
  const std::vector<std::uint8_t> whole = read_file(dir / "whole.tare");
  const auto all = events_of(*open_trace(dir / "whole.tare"));
  const std::vector<std::size_t> records = record_offsets(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    write_file(dir / "cut.tare", {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    auto opened = open_trace(dir / "cut.tare");
    if (size < trace::kFileHeaderBytes) {
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().kind, ErrorKind::NotATrace);
      continue;
    }
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_FALSE(opened->complete());
    EXPECT_EQ(opened->warnings().size(), 1u);
    const auto events = events_of(*opened);
    const auto at_end = std::upper_bound(records.begin(), records.end(), size);
    // The last three records are the two blocks and the end.
    const std::ptrdiff_t missing = records.end() - at_end;
    EXPECT_EQ(events.empty(), missing >= 3);
    EXPECT_EQ(events.size() == all.size(), missing == 1);
  }
}

TEST(TraceFile, EveryFlippedBitShows) {
  TempDir dir;
  write_example_trace(dir / "whole.tare");
  const std::vector<std::uint8_t> whole = read_file(dir / "whole.tare");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(std::to_string(at) + " bit " + std::to_string(bit));
      std::vector<std::uint8_t> damaged = whole;
      damaged[at] ^= static_cast<std::uint8_t>(1 << bit);
      write_file(dir / "damaged.tare", damaged);
      auto opened = open_trace(dir / "damaged.tare");
      if (!opened) {
        EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
        continue;
      }
      EXPECT_FALSE(opened->complete());
      Status status = ok();
      const auto events = events_of(*opened, &status);
      EXPECT_TRUE(events.empty() || events.size() == 3);
      if (opened->damage()) {
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().kind, ErrorKind::Corrupt);
        EXPECT_NE(status.error().message.find("offset"), std::string::npos);
      }
    }
  }
}

// Puts a record of an unknown type before the last one.
std::vector<std::uint8_t> with_unknown_record(const std::vector<std::uint8_t>& whole, std::uint16_t flags) {
  const std::vector<std::size_t> records = record_offsets(whole);
  const std::vector<std::uint8_t> payload = {1, 2, 3};
  trace::RecordHeader header{999, flags, 3, 0};
  header.checksum = trace::record_checksum(header, payload);
  std::vector<std::uint8_t> record(16);
  std::memcpy(record.data(), &header, 16);
  record.insert(record.end(), payload.begin(), payload.end());
  std::vector<std::uint8_t> result = whole;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(records[records.size() - 2]), record.begin(),
                record.end());
  return result;
}

TEST(TraceFile, UnknownRecordsAreSkippedOrRefused) {
  TempDir dir;
  write_example_trace(dir / "a.tare");
  const std::vector<std::uint8_t> whole = read_file(dir / "a.tare");
  write_file(dir / "skip.tare", with_unknown_record(whole, trace::kRecordSkippable));
  auto skipped = open_trace(dir / "skip.tare");
  ASSERT_TRUE(skipped) << skipped.error().message;
  EXPECT_TRUE(skipped->complete());
  EXPECT_EQ(events_of(*skipped).size(), 3u);
  write_file(dir / "refuse.tare", with_unknown_record(whole, 0));
  const auto refused = open_trace(dir / "refuse.tare");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::NewerVersion);
}

TEST(TraceFile, OtherFilesAreRefusedInOneLine) {
  TempDir dir;
  write_file(dir / "text", {'h', 'e', 'l', 'l', 'o', ',', ' ', 'w', 'o', 'r', 'l', 'd', ' ', 't', 'e', 'x', 't', '\n'});
  write_file(dir / "empty", {});
  write_example_trace(dir / "newer");
  std::vector<std::uint8_t> newer = read_file(dir / "newer");
  newer[8] = 2;
  write_file(dir / "newer", newer);
  const struct {
    std::string path;
    ErrorKind kind;
  } cases[] = {{dir / "text", ErrorKind::NotATrace},
               {dir / "empty", ErrorKind::NotATrace},
               {dir / "missing", ErrorKind::Io},
               {dir.path(), ErrorKind::NotATrace},
               {dir / "newer", ErrorKind::NewerVersion}};
  for (const auto& one : cases) {
    const auto opened = open_trace(one.path);
    ASSERT_FALSE(opened) << one.path;
    EXPECT_EQ(opened.error().kind, one.kind) << opened.error().message;
    EXPECT_NE(opened.error().message.find(one.path), std::string::npos);
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  }
}

TEST(TraceFile, UnfinishedTraceIsJoinedWithItsSpool) {
  for (const std::uint32_t threads : {1u, 3u}) {
    TempDir dir;
    std::vector<ExpectedCall> calls;
    std::uint32_t chunks = 0;
    {
      SpoolBuilder spool(dir / "a.spool");
      calls = play({.threads = threads, .calls = 20'000, .seed = threads}, spool);
      chunks = spool.header().chunk_count;
    }
    ASSERT_GT(chunks, 4u);
    for (const std::uint32_t taken : {0u, 1u, chunks / 2, chunks - 1, chunks}) {
      SCOPED_TRACE(taken);
      write_trace_of_spool(dir / "a.spool", dir / "a.tare", taken, Ending::NoEnd);
      auto opened = open_trace(dir / "a.tare");
      ASSERT_TRUE(opened) << opened.error().message;
      EXPECT_FALSE(opened->complete());
      expect_same(calls, events_of(*opened), opened->dictionary());
    }
  }
}

TEST(TraceFile, AnUnfinishedTraceIsFinishedFromItsSpool) {
  TempDir dir;
  std::vector<ExpectedCall> calls;
  std::uint32_t chunks = 0;
  make_spool_folder(dir / "tare-spools");
  const std::string spool_path = dir / "tare-spools/2147483646.0.spool";
  {
    SpoolBuilder spool(spool_path, {.pid = 2147483646});  // beyond what the kernel gives
    calls = play({.threads = 3, .calls = 20'000}, spool);
    chunks = spool.header().chunk_count;
  }
  for (const std::uint32_t taken : {0u, chunks / 2}) {
    SCOPED_TRACE(taken);
    const std::string kept = dir / "kept.spool";
    make_spool_folder(dir / "tare-spools");
    if (taken != 0) std::filesystem::rename(kept, spool_path);
    write_trace_of_spool(spool_path, dir / "a.tare", taken, Ending::NoEnd);
    if (taken == 0) std::filesystem::create_hard_link(spool_path, kept);
    // A record cut in half at the end makes no difference.
    std::vector<std::uint8_t> bytes = read_file(dir / "a.tare");
    bytes.push_back(7);
    write_file(dir / "a.tare", bytes);
    const auto done = trace::finish_leftover(dir / "a.tare");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(*done, trace::Leftover::Finished);
    EXPECT_FALSE(std::filesystem::exists(dir / "tare-spools"));
    auto opened = open_trace(dir / "a.tare");
    ASSERT_TRUE(opened);
    EXPECT_TRUE(opened->complete());
    EXPECT_TRUE(opened->warnings().empty());
    expect_same(calls, events_of(*opened), opened->dictionary());
    EXPECT_EQ(*trace::finish_leftover(dir / "a.tare"), trace::Leftover::None);
  }
}

TEST(TraceFile, ALivingProgramsTraceIsNotFinished) {
  TempDir dir;
  make_spool_folder(dir / "tare-spools");
  const std::string spool_path = dir / "tare-spools/1.0.spool";
  {
    SpoolBuilder spool(spool_path, {.pid = static_cast<std::uint32_t>(::getpid())});
    play({.calls = 5'000}, spool);
  }
  write_trace_of_spool(spool_path, dir / "a.tare", 1, Ending::NoEnd);
  const std::vector<std::uint8_t> before = read_file(dir / "a.tare");
  const auto done = trace::finish_leftover(dir / "a.tare");
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, trace::Leftover::InUse);
  EXPECT_EQ(read_file(dir / "a.tare"), before);
}

TEST(TraceFile, ASpoolOfAnotherProcessIsNotJoined) {
  TempDir dir;
  {
    SpoolBuilder spool(dir / "a.spool");
    play({.calls = 5'000}, spool);
  }
  write_trace_of_spool(dir / "a.spool", dir / "a.tare", 1, Ending::NoEnd);
  {
    SpoolBuilder spool(dir / "a.spool", {.pid = 99});
    play({.calls = 5'000}, spool);
  }
  auto opened = open_trace(dir / "a.tare");
  ASSERT_TRUE(opened);
  EXPECT_LT(events_of(*opened).size(), 4'000u);
}

TEST(TraceFile, WriterFailsOnceAndClearly) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP();
  auto writer = trace::TraceWriter::create("/dev/full");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind, ErrorKind::Io);
  EXPECT_NE(writer.error().message.find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace tare::test
