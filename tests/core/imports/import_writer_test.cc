// The reader reads every trace that an import writes; impossible ids and sizes are errors.
#include "core/imports/import_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/recording/recording.h"
#include "support/temp_dir.h"

namespace tare::core {
namespace {

using trace::AllocApi;

class ImportWriterTest : public testing::Test {
 protected:
  std::unique_ptr<ImportWriter> create() {
    trace::ProcessInfo info;
    info.exe = "/bin/app";
    info.imported_from = "a test";
    info.missing_facts = "usable";
    auto made = ImportWriter::create(path_, info);
    EXPECT_TRUE(made);
    return *std::move(made);
  }
  std::int64_t process(const std::string& column) {
    auto opened = Recording::open(path_);
    EXPECT_TRUE(opened);
    return (*opened->table("process"))[column].ints.at(0);
  }

  test::TempDir dir_;
  std::string path_ = dir_ / "imported.tare";
};

TEST_F(ImportWriterTest, EventsAndGivenNamesComeBack) {
  auto writer = create();
  const auto module = *writer->add_module({.path = "/nowhere/app"});
  const auto leaf = *writer->add_named_row(module, 0x1000, {{{}, "inlined", "a.h", 3}, {{}, "leaf", "a.c", 12}});
  const auto unnamed = *writer->add_row(module, 0x2000);
  const auto stack = *writer->stack(*writer->stack(0, unnamed), leaf);
  const auto shape = *writer->shape(stack, AllocApi::Unknown, 0, 100, 100, 1);
  const auto large = *writer->shape(stack, AllocApi::Realloc, 0, 300, 300, 1);
  ASSERT_TRUE(writer->begin_block(10, 0, 0x7000, shape));
  ASSERT_TRUE(writer->begin_block(10, 1, 0x8000, shape));  // the same time: later all the same
  ASSERT_TRUE(writer->grow_block(20, 1, 0x8000, 0x9000, large));
  ASSERT_TRUE(writer->end_block(5'000'000, 0, 0x7000));
  ASSERT_TRUE(writer->finish(6'000'000, true, 4096));

  EXPECT_EQ(process("alloc_events"), 2);
  EXPECT_EQ(process("realloc_events"), 1);
  EXPECT_EQ(process("free_events"), 1);
  EXPECT_EQ(process("impossible_events"), 0);
  EXPECT_EQ(process("threads"), 2);
  EXPECT_EQ(process("peak_requested_bytes"), 400);
  EXPECT_EQ(process("end_requested_bytes"), 300);
  EXPECT_EQ(process("duration_ns"), 6'000'000);
  EXPECT_EQ(process("peak_rss_bytes"), 4096);

  for (int cached = 0; cached < 2; ++cached) {  // the second time from the tables beside the trace
    auto opened = Recording::open(path_);
    ASSERT_TRUE(opened);
    const auto frames = opened->names().frames(std::vector<trace::RowId>{trace::RowId{leaf}, trace::RowId{unnamed}});
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].frame.function, "inlined");
    EXPECT_EQ(frames[1].frame.function, "leaf");
    EXPECT_EQ(frames[1].frame.file, "a.c");
    EXPECT_EQ(frames[1].frame.line, 12u);
    EXPECT_EQ(frames[2].frame.function, "");
    opened->find_sites(8);
    EXPECT_EQ(opened->table("sites")->rows(), 1u);
  }
}

TEST_F(ImportWriterTest, OfEqualBlocksTheYoungestEnds) {
  auto writer = create();
  const auto shape = *writer->shape(0, AllocApi::Malloc, 0, 64, 64, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->begin_some_block(0, 0, shape));
  ASSERT_TRUE(writer->end_some_block(0, 0, shape));
  ASSERT_TRUE(writer->begin_some_block(0, 0, shape));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->end_some_block(0, 0, shape));
  EXPECT_FALSE(writer->end_some_block(0, 0, shape));
  ASSERT_TRUE(writer->finish(0, true, 0));
  EXPECT_EQ(process("alloc_events"), 4);
  EXPECT_EQ(process("free_events"), 4);
  EXPECT_EQ(process("pre_existing_frees"), 0);
  EXPECT_EQ(process("end_blocks"), 0);
  EXPECT_EQ(process("peak_blocks"), 3);
}

TEST_F(ImportWriterTest, ManyEventsOfManyThreadsKeepTheirOrder) {
  auto writer = create();
  constexpr std::uint64_t kBlocks = 300'000;  // of three event blocks and more
  const auto shape = *writer->shape(0, AllocApi::Malloc, 0, 8, 8, 1);
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    ASSERT_TRUE(writer->begin_block(i, i % 5 == 0 ? 1 : 0, 0x10000 + 16 * i, shape));
    if (i % 2 == 1) {
      ASSERT_TRUE(writer->end_block(i, 2, 0x10000 + 16 * i));  // by another thread
    }
  }
  ASSERT_TRUE(writer->finish(kBlocks, true, 0));
  EXPECT_EQ(process("alloc_events"), std::int64_t{kBlocks});
  EXPECT_EQ(process("free_events"), std::int64_t{kBlocks / 2});
  EXPECT_EQ(process("impossible_events"), 0);
  EXPECT_EQ(process("pre_existing_frees"), 0);
  EXPECT_EQ(process("peak_blocks"), std::int64_t{kBlocks / 2 + 1});
}

TEST_F(ImportWriterTest, LongNamesAreCutAndManyFitTheFormat) {
  auto writer = create();
  const std::string longest(100'000, 'x');
  std::uint32_t stack = 0;
  for (std::uint32_t row = 0; row < 20'000; ++row)  // 80 MB of names: more than a record may have
    stack = *writer->stack(0, *writer->add_named_row(0xffff, row, {{{}, longest + std::to_string(row), "", 0}}));
  ASSERT_TRUE(writer->begin_block(0, 0, 16, *writer->shape(stack, AllocApi::Malloc, 0, 8, 8, 1)));
  ASSERT_TRUE(writer->finish(0, true, 0));
  auto opened = trace::open_trace(path_);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->warnings().empty());
  EXPECT_EQ(opened->dictionary().given_frames.size(), 20'000u);
  EXPECT_EQ(opened->dictionary().given_frames.back().function.size(), trace::kMaxFrameText);
}

TEST_F(ImportWriterTest, ImpossibleFactsAreRefused) {
  auto writer = create();
  const auto shape = *writer->shape(0, AllocApi::Malloc, 0, 8, 8, 1);
  EXPECT_FALSE(writer->add_row(0, 0x1000));                       // no such module
  EXPECT_FALSE(writer->add_row(0xffff, std::uint64_t{1} << 48));  // too many bits
  EXPECT_FALSE(writer->add_named_row(0xffff, 1, {}));
  EXPECT_FALSE(writer->stack(0, 0));
  EXPECT_FALSE(writer->stack(1, 0));
  EXPECT_FALSE(writer->shape(1, AllocApi::Malloc, 0, 8, 8, 1));
  EXPECT_FALSE(writer->shape(0, static_cast<AllocApi>(0), 0, 8, 8, 1));
  EXPECT_FALSE(writer->shape(0, static_cast<AllocApi>(31), 0, 8, 8, 1));
  EXPECT_FALSE(writer->shape(0, AllocApi::Malloc, 24, 8, 8, 1));
  EXPECT_FALSE(writer->shape(0, AllocApi::Malloc, 0, 9, 8, 1));
  EXPECT_FALSE(writer->shape(0, AllocApi::Malloc, 0, ~std::uint64_t{0}, ~std::uint64_t{0}, 1));
  EXPECT_FALSE(writer->shape(0, AllocApi::Malloc, 0, 8, 8, 0.5));
  EXPECT_FALSE(writer->begin_block(0, 0, 16, shape + 1));
  EXPECT_FALSE(writer->begin_block(0, 70'000, 16, shape));
  EXPECT_FALSE(writer->end_block(0, 70'000, 16));
  EXPECT_FALSE(writer->end_some_block(0, 0, shape));
}

}  // namespace
}  // namespace tare::core
