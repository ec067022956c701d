// Every entry point is recorded under its own name, with the sizes asked for and those that the allocator says.
#include <gtest/gtest.h>

#include <map>

#include "test_launcher.h"
#include "trace/model/api.h"

namespace tare::test {
namespace {

using trace::AllocApi;
using trace::FreeApi;
using trace::MapApi;
using trace::Op;

std::vector<RawEvent> all_events(const SpoolImage& image) {
  std::vector<RawEvent> events;
  for (const ThreadEvents& thread : image.threads())
    events.insert(events.end(), thread.events.begin(), thread.events.end());
  return events;
}

const RawEvent* find(const std::vector<RawEvent>& events, Op op, std::uint64_t requested) {
  for (const RawEvent& event : events) {
    if (event.op == op && event.requested == requested) return &event;
  }
  return nullptr;
}

struct Expected {
  const char* key;
  std::uint64_t requested;
  AllocApi api;
  int align_log2;
  Op op = Op::Alloc;
};

TEST(EntryPoints, AreRecordedWithWhatWasAskedAndGot) {
  const RunResult result = run({program("entry_points")});
  ASSERT_TRUE(result.exited(0)) << result.wait_status << result.errors;
  const std::vector<RawEvent> events = all_events(result.only_image());
  const Expected table[] = {
      {"malloc", 1001, AllocApi::Malloc, 0},
      {"calloc", 1001, AllocApi::Malloc, 0},
      {"realloc-null", 1003, AllocApi::Realloc, 0},
      {"memalign", 1004, AllocApi::Memalign, 6},
      {"aligned_alloc", 1152, AllocApi::AlignedAlloc, 7},
      {"posix_memalign", 1006, AllocApi::PosixMemalign, 8},
      {"valloc", 1007, AllocApi::Valloc, 12},
      {"pvalloc", 1008, AllocApi::Pvalloc, 12},
      {"reallocarray", 1011, AllocApi::Reallocarray, 0},
      {"realloc", 100010, AllocApi::Realloc, 0, Op::Realloc},
      {"mmapped", 2000011, AllocApi::Malloc, 0},
      {"mremapped", 4000012, AllocApi::Realloc, 0, Op::Realloc},
  };
  for (const Expected& expected : table) {
    const RawEvent* event = find(events, expected.op, expected.requested);
    ASSERT_NE(event, nullptr) << expected.key;
    EXPECT_EQ(event->api, static_cast<int>(expected.api)) << expected.key;
    EXPECT_EQ(event->align_log2, expected.align_log2) << expected.key;
    EXPECT_EQ(event->usable, result.number(expected.key)) << expected.key;
    EXPECT_GE(event->depth, 3u) << expected.key;  // main, __libc_start_call_main, __libc_start_main, _start
  }
}

TEST(EntryPoints, StacksBeginInTheCaller) {
  const RunResult result = run({program("entry_points")});
  const SpoolImage& image = result.only_image();
  for (const RawEvent& event : all_events(image)) {
    if (event.op != Op::Alloc) continue;
    EXPECT_EQ(image.module_path(event.top_row).find("libtare-record"), std::string::npos) << event.requested;
  }
  const std::vector<RawEvent> events = all_events(image);
  EXPECT_EQ(image.module_path(find(events, Op::Alloc, 1001)->top_row), program("entry_points"));
}

TEST(EntryPoints, ReallocToNothingIsAFree) {
  const RunResult result = run({program("entry_points")});
  const std::vector<RawEvent> events = all_events(result.only_image());
  const RawEvent* gone = find(events, Op::Alloc, 1013);
  ASSERT_NE(gone, nullptr);
  bool found = false;
  for (const RawEvent& event : events) {
    found |=
        event.op == Op::Free && event.address == gone->address && event.api == static_cast<int>(FreeApi::ReallocToZero);
  }
  EXPECT_TRUE(found);
}

TEST(EntryPoints, MappingsAreRecorded) {
  const RunResult result = run({program("entry_points")});
  std::map<int, RawEvent> maps;
  for (const RawEvent& event : all_events(result.only_image())) {
    if (event.op == Op::Map && (event.requested == 123 << 12 || event.requested == 456 << 12 ||
                                event.old_length == 456 << 12 || event.api == static_cast<int>(MapApi::Brk))) {
      maps[event.api] = event;
    }
  }
  ASSERT_EQ(maps.size(), 4u);
  EXPECT_EQ(maps[1].requested, 123u << 12);
  EXPECT_EQ(maps[3].old, maps[1].address);
  EXPECT_EQ(maps[3].old_length, 123u << 12);
  EXPECT_EQ(maps[3].requested, 456u << 12);
  EXPECT_EQ(maps[2].old, maps[3].address);
  EXPECT_EQ(maps[2].requested, 0u);
  EXPECT_EQ(maps[4].requested, 4096u);
}

TEST(EntryPoints, OperatorsOfTheStandardLibraryPassThroughMalloc) {
  const RunResult result = run({program("operators")});
  ASSERT_TRUE(result.exited(0)) << result.errors;
  EXPECT_EQ(result.number("caught"), 3u);
  const SpoolImage& image = result.only_image();
  const std::vector<RawEvent> events = all_events(image);
  for (std::uint64_t size = 2001; size <= 2013; ++size) {
    // libstdc++ rounds aligned sizes up to a multiple of the alignment.
    const bool aligned = (size >= 2005 && size <= 2008) || size == 2011 || size == 2012;
    const RawEvent* event = find(events, Op::Alloc, size);
    if (event == nullptr && aligned) event = find(events, Op::Alloc, 2048);
    ASSERT_NE(event, nullptr) << size;
    EXPECT_EQ(event->api, static_cast<int>(aligned ? AllocApi::AlignedAlloc : AllocApi::Malloc)) << size;
    EXPECT_NE(image.module_path(event->top_row).find("libstdc++"), std::string::npos) << size;
  }
  const Replayed replayed = image.replay();
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
}

TEST(EntryPoints, EightyOneMegabytesToTheByte) {
  const RunResult result = run({program("megabytes")});
  ASSERT_TRUE(result.exited(0));
  const Replayed replayed = result.only_image().replay();
  EXPECT_EQ(replayed.live_requested, 81'000'000u);
  EXPECT_EQ(replayed.reallocs, 21u);
  EXPECT_EQ(replayed.impossible, 0u);
  EXPECT_EQ(replayed.unknown_frees, 0u);
}

TEST(EntryPoints, DeepStacksAreWholeUpToTheLimit) {
  const RunResult whole = run({program("deep"), "4000"});
  ASSERT_TRUE(whole.exited(0));
  std::uint32_t depth = 0;
  for (const RawEvent& event : all_events(whole.only_image())) depth = std::max(depth, event.depth);
  EXPECT_GE(depth, 4004u);
  EXPECT_EQ(whole.only_image().header().truncated_stacks.load(), 0u);

  const RunResult cut = run({program("deep"), "20000"});
  ASSERT_TRUE(cut.exited(0));
  EXPECT_GE(cut.only_image().header().truncated_stacks.load(), 1u);
}

TEST(EntryPoints, FreesCarryStacksOnRequest) {
  RunOptions options;
  options.environment = {"TARE_FREE_STACKS=1"};
  const RunResult result = run({program("entry_points")}, options);
  std::uint64_t frees = 0;
  for (const RawEvent& event : all_events(result.only_image())) {
    if (event.op != Op::Free) continue;
    ++frees;
    EXPECT_GE(event.depth, 2u);
  }
  EXPECT_GE(frees, 2u);
  EXPECT_NE(result.only_image().header().flags.load() & trace::kSpoolFreeStacks, 0u);
}

TEST(EntryPoints, TheHeaderSaysWhoRan) {
  const RunResult result = run({program("entry_points"), "an argument"});
  const SpoolImage& image = result.only_image();
  EXPECT_EQ(image.text(image.header().exe), program("entry_points"));
  EXPECT_EQ(image.text(image.header().command_line), program("entry_points") + '\0' + "an argument" + '\0');
  EXPECT_EQ(image.header().allocator, trace::AllocatorKind::Glibc);
  EXPECT_NE(image.text(image.header().allocator_path).find("libc.so.6"), std::string::npos);
  EXPECT_NE(image.header().flags.load() & trace::kSpoolEnded, 0u);
  EXPECT_GT(image.header().end_stamp.load(), image.header().start_stamp);
  EXPECT_EQ(image.header().dropped_events.load(), 0u);
}

}  // namespace
}  // namespace tare::test
