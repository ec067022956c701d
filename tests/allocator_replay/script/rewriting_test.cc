// Rewritten scripts, step by step: what each remedy makes of a recording's calls.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "allocator_replay/script/script_reading.h"
#include "allocator_replay/script/script_writer.h"
#include "allocator_replay/script/slabs.h"
#include "support/spool_builder.h"
#include "support/temp_dir.h"

namespace tare::test {
namespace {

using core::Remedy;
using core::RewriteRules;
using core::Step;
using enum core::StepKind;

// Without the order, which counts.
struct Call {
  core::StepKind kind;
  std::uint64_t bytes = 0;
  std::uint32_t slot = 0;
  bool operator==(const Call&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Call& call) {
  return out << "{kind " << static_cast<int>(call.kind) << ", " << call.bytes << " bytes, slot " << call.slot << "}";
}
using Calls = std::vector<Call>;

Calls calls_of(const std::vector<Step>& steps) {
  Calls calls;
  for (const Step& step : steps) calls.push_back({step.kind(), step.bytes(), step.slot});
  return calls;
}

class Rewriting : public testing::Test {
  TempDir dir_;

 protected:
  // Shapes are numbered in the order of their first blocks.
  void alloc(std::uint64_t address, std::uint64_t bytes, std::uint32_t thread = 0, std::uint64_t usable_bytes = 0) {
    spool_.alloc(thread, now_ += 100, {address, bytes, std::max(bytes, usable_bytes), {row_}});
  }
  void free(std::uint64_t address, std::uint32_t thread = 0) { spool_.free(thread, now_ += 100, address); }
  void realloc(std::uint64_t old_address, std::uint64_t address, std::uint64_t bytes) {
    now_ += 100;
    spool_.realloc(0, now_, now_ + 10, old_address, {address, bytes, bytes, {row_}, trace::AllocApi::Realloc});
  }
  void unwritten(std::uint64_t address, std::uint64_t bytes) {
    spool_.contents(0, now_ + 50, address, bytes, trace::ContentClass::Other);
  }
  Script rewritten(const RewriteRules& rules) {
    spool_.end(now_ + 100);
    auto opened = trace::open_trace(dir_ / "spool");
    EXPECT_TRUE(opened);
    const core::ScriptRequest request{dir_ / "script", rules};
    const auto written = core::write_call_scripts(*opened, {&request, 1});
    EXPECT_TRUE(written);
    summary = written->front();
    return read_script(dir_ / "script");
  }
  Calls main_calls(const RewriteRules& rules) { return calls_of(rewritten(rules).threads.at(0)); }

  core::ScriptSummary summary;

 private:
  SpoolBuilder spool_{dir_ / "spool"};
  std::uint32_t row_ = spool_.add_row(0x401000);
  std::uint64_t now_ = 1'000'000;
};

TEST_F(Rewriting, ChangesRequests) {
  alloc(0x1000, 4105);
  alloc(0x3000, 100);
  free(0x1000);
  EXPECT_EQ(main_calls({{{Remedy::Resize, 0, 4072}}}), (Calls{{Malloc, 4072, 0}, {Malloc, 100, 1}, {Free, 4072, 0}}));
  EXPECT_EQ(summary.rewritten_blocks, 1u);
  EXPECT_EQ(summary.peak_requested_bytes, 4172u);
}

TEST_F(Rewriting, ReusesKeptBlocks) {
  alloc(0x1000, 100);
  free(0x1000);
  alloc(0x2000, 80);
  free(0x2000);
  alloc(0x3000, 200);  // no kept block has room
  free(0x3000);
  alloc(0x4000, 20);  // too small for any
  EXPECT_EQ(main_calls({{{Remedy::Reuse}, {Remedy::Reuse}, {Remedy::Reuse}, {Remedy::Reuse}}}),
            (Calls{{Malloc, 100, 0}, {Nothing}, {Nothing}, {Nothing}, {Malloc, 200, 1}, {Nothing}, {Malloc, 20, 2}}));
  EXPECT_EQ(summary.calls, 3u);
  EXPECT_EQ(summary.rewritten_blocks, 4u);
}

TEST_F(Rewriting, KeepsEightBlocks) {
  for (std::uint64_t i = 0; i < 9; ++i) alloc(0x1000 * (i + 1), 100);
  for (std::uint64_t i = 0; i < 9; ++i) free(0x1000 * (i + 1));
  const Calls calls = main_calls({{{Remedy::Reuse}}});
  EXPECT_EQ(summary.calls, 10u);
  EXPECT_EQ(calls.back(), (Call{Free, 100, 0})) << "the one that was kept first";
}

TEST_F(Rewriting, GrowsReusedBlocksWithoutACallIfTheyHaveRoom) {
  alloc(0x1000, 100);
  free(0x1000);
  alloc(0x2000, 60);
  realloc(0x2000, 0x3000, 90);
  realloc(0x3000, 0x4000, 300);
  const RewriteRules rules{{{Remedy::Reuse}, {Remedy::Reuse}, {Remedy::Reuse}, {Remedy::Reuse}}};
  EXPECT_EQ(main_calls(rules), (Calls{{Malloc, 100, 0},
                                      {Nothing},
                                      {Nothing},
                                      {ReallocFrom, 60, 0},
                                      {KeptTo, 90, 1},
                                      {ReallocFrom, 90, 1},
                                      {ReallocTo, 300, 2}}));
}

TEST_F(Rewriting, ThreadsReuseTheirOwnFreedBlocks) {
  alloc(0x1000, 100, 0);
  free(0x1000, 1);
  alloc(0x2000, 100, 0);
  alloc(0x3000, 100, 1);
  const Script script = rewritten({{{Remedy::Reuse}}});
  EXPECT_EQ(calls_of(script.threads.at(0)), (Calls{{Malloc, 100, 0}, {Malloc, 100, 1}}));
  EXPECT_EQ(calls_of(script.threads.at(1)), (Calls{{Nothing}, {Nothing}}));
}

TEST_F(Rewriting, ServesBlocksFromSlabs) {
  constexpr std::uint64_t kSlab = core::Slabs::kSlabBytes;
  alloc(0x1000, 20);
  alloc(0x2000, 24);
  free(0x1000);
  alloc(0x3000, 20);
  alloc(0x4000, 8000);  // too large
  free(0x4000);
  EXPECT_EQ(main_calls({{{Remedy::Slabs}, {Remedy::Slabs}, {Remedy::Slabs}}}), (Calls{{Malloc, kSlab, 0},
                                                                                      {Touch, 0, 0},
                                                                                      {Touch, 24, 0},
                                                                                      {Nothing},
                                                                                      {Touch, 0, 0},
                                                                                      {Malloc, 8000, 1},
                                                                                      {Free, 8000, 1}}));
  EXPECT_EQ(summary.calls, 3u);
}

TEST_F(Rewriting, MovesBlocksOutOfSlabs) {
  alloc(0x1000, 20);
  realloc(0x1000, 0x2000, 5000);
  EXPECT_EQ(main_calls({{{Remedy::Slabs}, {Remedy::Slabs}}}),
            (Calls{{Malloc, core::Slabs::kSlabBytes, 0}, {Touch, 0, 0}, {Nothing}, {Malloc, 5000, 1}}));
}

TEST_F(Rewriting, DoublesTheRoomOfReallocs) {
  alloc(0x1000, 100);
  realloc(0x1000, 0x2000, 110);
  realloc(0x2000, 0x3000, 200);
  realloc(0x3000, 0x4000, 120);  // shrinks
  free(0x4000);
  const RewriteRules rules{{{Remedy::Grow}, {Remedy::Grow}, {Remedy::Grow}, {Remedy::Grow}}};
  const Script script = rewritten(rules);
  EXPECT_EQ(calls_of(script.threads.at(0)), (Calls{{Malloc, 100, 0},
                                                   {ReallocFrom, 100, 0},
                                                   {ReallocTo, 200, 1},
                                                   {ReallocFrom, 110, 1},
                                                   {KeptTo, 200, 2},
                                                   {ReallocFrom, 200, 2},
                                                   {ReallocTo, 120, 3},
                                                   {Free, 120, 3}}));
  EXPECT_GE(script.threads.at(0).at(2).written_bytes(), 110u);
  EXPECT_LT(script.threads.at(0).at(2).written_bytes(), 120u);
  EXPECT_EQ(summary.calls, 4u);
}

TEST_F(Rewriting, DoublesTheRoomOfBlocksThatAreCopiedByHand) {
  alloc(0x1000, 100);
  alloc(0x2000, 110);
  free(0x1000);  // copied: 200 bytes instead of 110
  alloc(0x3000, 120);
  free(0x2000);  // has room
  free(0x3000);
  EXPECT_EQ(main_calls({{{Remedy::Grow}, {Remedy::Grow}, {Remedy::Grow}}}), (Calls{{Malloc, 100, 0},
                                                                                   {Malloc, 200, 1},
                                                                                   {Free, 100, 0},
                                                                                   {Nothing, 0, 2},
                                                                                   {ReallocFrom, 110, 1},
                                                                                   {KeptTo, 120, 2},
                                                                                   {Free, 200, 2}}));
  EXPECT_EQ(summary.calls, 4u);
  EXPECT_EQ(summary.recorded_hand_copies, 210u);
  EXPECT_EQ(summary.hand_copies, 100u);
}

TEST_F(Rewriting, LeavesUnrelatedBlocksOfAGrowingSite) {
  alloc(0x1000, 100);
  alloc(0x2000, 90);  // smaller
  free(0x1000);
  alloc(0x3000, 300);
  alloc(0x4000, 20);
  free(0x4000);  // since then nothing was allocated
  free(0x2000);
  main_calls({{{Remedy::Grow}, {Remedy::Grow}, {Remedy::Grow}, {Remedy::Grow}}});
  EXPECT_EQ(summary.recorded_hand_copies, 0u);
  EXPECT_EQ(summary.calls, 7u);
}

TEST_F(Rewriting, TrimsToWhatWasWritten) {
  alloc(0x1000, 1000);
  alloc(0x2000, 1000);
  alloc(0x3000, 1000);
  alloc(0x4000, 1000);
  unwritten(0x1000, 700);
  free(0x1000);
  unwritten(0x2000, 990);
  free(0x2000);
  free(0x3000);  // written to its end
  EXPECT_EQ(main_calls({{{Remedy::Trim, 0, 64, 500}}}), (Calls{{Malloc, 300, 0},
                                                               {Malloc, 64, 1},
                                                               {Malloc, 1000, 2},
                                                               {Malloc, 500, 3},
                                                               {Free, 300, 0},
                                                               {Free, 64, 1},
                                                               {Free, 1000, 2}}));
}

TEST_F(Rewriting, AvoidsBlocksThatWereNeverWritten) {
  alloc(0x1000, 1000);
  unwritten(0x1000, 1000);
  free(0x1000);
  EXPECT_EQ(main_calls({{{Remedy::Trim}}}), (Calls{{Avoided, 0, 0}, {Free, 0, 0}}));
  EXPECT_EQ(summary.calls, 0u);
}

TEST_F(Rewriting, UsesWholeBlocks) {
  alloc(0x1000, 100, 0, 120);
  realloc(0x1000, 0x2000, 115);
  EXPECT_EQ(main_calls({{{Remedy::Grow, 0, 0, 1}, {Remedy::Grow, 0, 0, 1}}}),
            (Calls{{Malloc, 120, 0}, {ReallocFrom, 100, 0}, {KeptTo, 115, 1}}));
}

TEST_F(Rewriting, SharesHalfOfTheBlocks) {
  for (std::uint64_t i = 1; i <= 4; ++i) alloc(0x1000 * i, 100);
  for (std::uint64_t i = 1; i <= 4; ++i) free(0x1000 * i);
  EXPECT_EQ(main_calls({{{Remedy::Share, 0, 20, 0, 0.5}}}), (Calls{{Malloc, 120, 0},
                                                                   {Nothing},
                                                                   {Malloc, 120, 1},
                                                                   {Nothing},
                                                                   {Free, 120, 0},
                                                                   {Nothing},
                                                                   {Free, 120, 1},
                                                                   {Nothing}}));
}

TEST_F(Rewriting, FreesABufferWhoseContentsExist) {
  alloc(0x1000, 100);
  realloc(0x1000, 0x2000, 60);
  free(0x2000);
  EXPECT_EQ(main_calls({{{}, {Remedy::Share, 0, 0, 0, 1}}}),
            (Calls{{Malloc, 100, 0}, {ReallocFrom, 100, 0}, {FreedTo, 0, 1}, {Nothing}}));
}

TEST_F(Rewriting, JoinsTwins) {
  alloc(0x1000, 20);
  alloc(0x2000, 100);
  alloc(0x3000, 100);  // without a first
  free(0x2000);
  free(0x1000);
  EXPECT_EQ(main_calls({{{Remedy::First, 3}, {Remedy::Second, 3}}}),
            (Calls{{Malloc, 124, 0}, {Nothing}, {Malloc, 100, 1}, {Nothing}, {Free, 124, 0}}));
}

TEST_F(Rewriting, FreesLeaksAtOnce) {
  alloc(0x1000, 100);
  alloc(0x2000, 100);
  alloc(0x3000, 100);
  free(0x2000);
  alloc(0x4000, 300);
  realloc(0x4000, 0x5000, 400);
  EXPECT_EQ(main_calls({{{Remedy::FreeAtOnce, 0, 0, 0, 1}, {}, {Remedy::FreeAtOnce, 0, 0, 0, 1}}}),
            (Calls{{FreedAtOnce, 100, 0},
                   {Malloc, 100, 1},
                   {FreedAtOnce, 100, 2},
                   {Free, 100, 1},
                   {Malloc, 300, 3},
                   {ReallocFrom, 300, 3},
                   {FreedTo, 0, 4}}));
}

TEST_F(Rewriting, FreesBlocksAtATime) {
  alloc(0x1000, 100);
  alloc(0x2000, 100);
  alloc(0x3000, 200);
  free(0x1000);  // 400 ticks after the start
  alloc(0x4000, 100);
  // The clock has 2 ticks a nanosecond.
  EXPECT_EQ(main_calls({{{Remedy::FreeAt, 0, 0, 175, 1}}}), (Calls{{Malloc, 100, 0},
                                                                   {Malloc, 100, 1},
                                                                   {Malloc, 200, 2},
                                                                   {Free, 100, 0},
                                                                   {Free, 100, 1},
                                                                   {Nothing},
                                                                   {Malloc, 100, 3}}));
}

}  // namespace
}  // namespace tare::test
