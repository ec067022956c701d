// Scripts of calls: what each event becomes, whose slot is whose, and recordings that can't be performed.
#include "allocator_replay/script/script_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <vector>

#include "allocator_replay/script/call_script.h"
#include "allocator_replay/script/script_reading.h"
#include "support/spool_builder.h"
#include "support/spool_script.h"
#include "support/temp_dir.h"
#include "support/trace_samples.h"

namespace tare::test {
namespace {

using core::Step;
using core::StepKind;

Result<core::ScriptSummary> write_script(const std::string& trace_path, const std::string& path) {
  auto opened = trace::open_trace(trace_path);
  if (!opened) return opened.error();
  return core::write_call_script(*opened, path);
}

class ScriptWriter : public testing::Test {
  TempDir dir_;  // before the paths in it

 protected:
  std::string spool_path = dir_ / "spool";
  std::string path = dir_ / "script";
};

constexpr trace::AllocApi kCalloc = trace::AllocApi::Calloc;

TEST_F(ScriptWriter, TellsEachCall) {
  {
    SpoolBuilder spool(spool_path);
    const std::uint32_t row = spool.add_row(0x401000);
    spool.alloc(0, 1'000'100, {0x1000, 100, 104, {row}});
    spool.alloc(0, 1'000'200, {0x2000, 64, 64, {row}, trace::AllocApi::PosixMemalign, 6});
    spool.alloc(1, 1'000'300, {0x3000, 5000, 5008, {row}, kCalloc});
    spool.realloc(0, 1'000'400, 1'000'420, 0x1000, {0x4000, 200, 200, {row}, trace::AllocApi::Realloc});
    spool.free(1, 1'000'500, 0x2000);
    spool.free(1, 1'000'600, 0x9999);  // born before the recording
    spool.end(1'000'700);
  }
  const auto summary = write_script(spool_path, path);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->steps, 6u);
  EXPECT_EQ(summary->threads, 2u);
  EXPECT_EQ(summary->foreign_frees, 1u);
  EXPECT_EQ(summary->reborn_blocks, 0u);
  EXPECT_EQ(summary->peak_requested_bytes, 200u + 64 + 5000);
  EXPECT_EQ(summary->process.allocator, trace::AllocatorKind::Glibc);
  EXPECT_EQ(summary->process.pid, 4711u);

  const Script script = read_script(path);
  ASSERT_EQ(script.threads.size(), 2u);
  const auto expect = [&](const Step& step, StepKind kind, std::uint64_t bytes, std::uint32_t slot,
                          std::uint32_t order) {
    SCOPED_TRACE(order);
    EXPECT_EQ(step.kind(), kind);
    EXPECT_EQ(step.bytes(), bytes);
    EXPECT_EQ(step.slot, slot);
    EXPECT_EQ(step.order, order);
  };
  ASSERT_EQ(script.threads[0].size(), 4u);
  expect(script.threads[0][0], StepKind::Malloc, 100, 0, 0);
  expect(script.threads[0][1], StepKind::Aligned, 64, 1, 1);
  EXPECT_EQ(script.threads[0][1].align_log2(), 6u);
  expect(script.threads[0][2], StepKind::ReallocFrom, 100, 0, 3);
  expect(script.threads[0][3], StepKind::ReallocTo, 200, 3, 4);  // the slot that has just become free rests
  ASSERT_EQ(script.threads[1].size(), 2u);
  expect(script.threads[1][0], StepKind::Calloc, 5000, 2, 2);
  expect(script.threads[1][1], StepKind::Free, 64, 1, 5);
  EXPECT_EQ(script.threads[1][0].written_bytes(), 5000u);
  EXPECT_EQ(script.header.peak_order, 5u);
  EXPECT_EQ(script.header.slot_count, 4u);
  ASSERT_EQ(script.times_ns.size(), 1u);
  EXPECT_EQ(script.times_ns[0], 0u);
}

TEST_F(ScriptWriter, SaysHowFarLargeBlocksWereWritten) {
  constexpr std::uint64_t kLarge = 1 << 20;
  {
    SpoolBuilder spool(spool_path);
    const std::uint32_t row = spool.add_row(0x401000);
    // The first one's birth lies in a chunk of steps that is in the file when its end is told.
    spool.alloc(0, 1'000'100, {0x100000, kLarge, kLarge, {row}});
    for (std::uint64_t i = 0; i < core::kChunkSteps; ++i)
      spool.alloc(0, 1'000'200 + i, {0x10000000 + 32 * i, 24, 24, {row}});
    spool.alloc(0, 1'010'000, {0x300000, kLarge, kLarge, {row}});
    spool.contents(0, 1'020'000, 0x100000, kLarge - 12'345, trace::ContentClass::Other);
    spool.free(0, 1'020'000, 0x100000);
    spool.contents(0, 1'020'100, 0x300000, trace::kMostUnwrittenBytes, trace::ContentClass::Other);
    spool.free(0, 1'020'100, 0x300000);
    spool.end(1'030'000);
  }
  ASSERT_TRUE(write_script(spool_path, path));
  const std::vector<Step> steps = read_script(path).threads.at(0);
  EXPECT_EQ(steps.front().bytes(), kLarge);
  EXPECT_GE(steps.front().written_bytes(), 12'345u);
  EXPECT_LE(steps.front().written_bytes(), 12'345u + (kLarge >> 15) + 1);
  EXPECT_EQ(steps[core::kChunkSteps + 1].bytes(), kLarge);
  EXPECT_EQ(steps[core::kChunkSteps + 1].written_bytes(), 0u);
}

TEST_F(ScriptWriter, FreesBlocksWhoseDeathWasLost) {
  {
    SpoolBuilder spool(spool_path);
    const std::uint32_t row = spool.add_row(0x401000);
    spool.alloc(0, 1'000'100, {0x1000, 100, 104, {row}});
    spool.alloc(0, 1'000'200, {0x1000, 24, 24, {row}});
    spool.end(1'000'700);
  }
  const auto summary = write_script(spool_path, path);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->reborn_blocks, 1u);
  const std::vector<Step> steps = read_script(path).threads.at(0);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].kind(), StepKind::Free);
  EXPECT_EQ(steps[1].slot, steps[0].slot);
  EXPECT_EQ(steps[2].kind(), StepKind::Malloc);
}

// Whatever threads do: each slot is filled and emptied in turn, refilled after the window at the earliest; and orders
// ascend within a thread and are all there.
TEST_F(ScriptWriter, KeepsSlotsAndOrderOfManyThreads) {
  {
    SpoolBuilder spool(spool_path);
    play({.threads = 5, .calls = 60'000, .seed = 7}, spool);
    spool.end(1'000'000'000);
  }
  const auto summary = write_script(spool_path, path);
  ASSERT_TRUE(summary) << summary.error().message;
  const Script script = read_script(path);
  std::map<std::uint32_t, Step> by_order;
  for (const std::vector<Step>& steps : script.threads) {
    for (std::size_t i = 1; i < steps.size(); ++i) ASSERT_LT(steps[i - 1].order, steps[i].order);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      by_order[steps[i].order] = steps[i];
      if (steps[i].kind() != StepKind::ReallocFrom) continue;
      ASSERT_LT(i + 1, steps.size());
      ASSERT_EQ(steps[i + 1].kind(), StepKind::ReallocTo);
    }
  }
  ASSERT_EQ(by_order.size(), script.header.step_count);
  ASSERT_EQ(by_order.rbegin()->first + 1, script.header.step_count);
  EXPECT_LT(script.header.slot_count, script.header.step_count / 2);
  std::vector<bool> taken(script.header.slot_count);
  std::vector<std::uint64_t> emptied(script.header.slot_count);
  for (const auto& [order, step] : by_order) {
    const bool empties = step.kind() == StepKind::Free || step.kind() == StepKind::ReallocFrom;
    ASSERT_EQ(taken[step.slot], empties) << "step " << order;
    taken[step.slot] = !empties;
    if (empties) {
      emptied[step.slot] = order;
    } else if (emptied[step.slot] != 0) {
      ASSERT_GT(order, emptied[step.slot] + core::kWindowSteps);
    }
  }
}

TEST_F(ScriptWriter, RefusesWhatDoesNotHoldAllCalls) {
  {
    SpoolBuilder spool(spool_path, {.sample_bytes = 4096});
    const std::uint32_t row = spool.add_row(0x401000);
    spool.alloc(0, 1'000'100, {0x1000, 100, 104, {row}});
    spool.end(1'000'700);
  }
  const auto sampled = write_script(spool_path, path);
  ASSERT_FALSE(sampled);
  EXPECT_EQ(sampled.error().kind, ErrorKind::Usage);
  EXPECT_NE(sampled.error().message.find("sampled"), std::string::npos);
  {
    SpoolBuilder spool(spool_path);
    spool.end(1'000'700);
  }
  const auto empty = write_script(spool_path, path);
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("no calls"), std::string::npos);
}

TEST_F(ScriptWriter, SaysWhereItCannotWrite) {
  {
    SpoolBuilder spool(spool_path);
    play({.calls = 5'000}, spool);
    spool.end(1'000'000'000);
  }
  const auto missing = write_script(spool_path, "/nowhere/script");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::Io);
  EXPECT_NE(missing.error().message.find("/nowhere/script"), std::string::npos);
  const auto full = write_script(spool_path, "/dev/full");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::Io);
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

TEST(Steps, RoundWhatWasWrittenUp) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{5000}, std::uint64_t{1} << 30, Step::kMostBytes}) {
    for (const std::uint64_t written : {std::uint64_t{0}, bytes / 7, bytes / 2, bytes - 1, bytes}) {
      const Step step{Step::pack(StepKind::Malloc, bytes, 0, Step::share_of(written, bytes)), 0, 0};
      EXPECT_EQ(step.bytes(), bytes);
      EXPECT_GE(step.written_bytes(), written);
      EXPECT_LE(step.written_bytes(), std::min(bytes, written + bytes / 32767 + 2));
    }
  }
}

}  // namespace
}  // namespace tare::test
