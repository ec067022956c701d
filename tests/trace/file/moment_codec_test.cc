// Moments written and read, whole and in pieces; bytes that are no moment are refused.
#include "trace/file/moment_codec.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "support/trace_samples.h"
#include "trace/open/open_trace.h"

namespace tare::test {
namespace {

trace::ExpansionBudget budget(~std::uint64_t{0});  // without a limit

using trace::Moment;

std::vector<Moment> read_all(const trace::OpenedTrace& opened) {
  std::vector<Moment> moments;
  EXPECT_TRUE(opened.read_moments([&](Moment moment) { moments.push_back(std::move(moment)); }));
  return moments;
}

TEST(MomentCodec, RoundTripThroughAFile) {
  TempDir dir;
  write_observed_trace(dir / "observed.tare");
  const auto opened = trace::open_trace(dir / "observed.tare");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->complete());
  EXPECT_EQ(opened->info().moments, 2u);
  EXPECT_EQ(read_all(*opened), moments_of_example());
  EXPECT_EQ(read_all(*opened).size(), 2u);  // as often as one likes
}

TEST(MomentCodec, CarryWhereTheProcesssMemoryIs) {
  using trace::MemoryKind;
  Moment moment = moments_of_example().front();
  moment.absent_bytes = 8192;
  moment.touches_known = true;
  moment.memory = {{MemoryKind::Heap, "", 1 << 20, 5000, 4096}, {MemoryKind::File, "/bin/app", 8192, 4096, 0}};
  trace::ByteWriter payload;
  trace::encode_moment(moment, 0, trace::Packing::Smallest, payload);
  std::vector<Moment> moments;
  ASSERT_EQ(trace::decode_moment(payload.bytes(), 1, budget, moments), nullptr);
  EXPECT_EQ(moments.at(0), moment);
  std::vector<std::uint8_t> wrong = payload.bytes();
  wrong.back() ^= 0xff;  // the last part's touched bytes go on
  EXPECT_NE(trace::decode_moment(wrong, 1, budget, moments), nullptr);
  EXPECT_EQ(moments.size(), 1u);
}

TEST(MomentCodec, LargeMomentsTakeSeveralRecords) {
  Moment large;
  large.kind = trace::MomentKind::Request;
  large.events_before = 5;
  large.blocks.resize(trace::kMaxRecordObservations + 3);
  for (std::size_t i = 0; i < large.blocks.size(); ++i) large.blocks[i].address = 0x1000 + 16 * i;
  large.blocks.back().leak_root = static_cast<std::uint32_t>(large.blocks.size() - 1);
  std::vector<Moment> moments;
  for (const std::size_t first : {std::size_t{0}, trace::kMaxRecordObservations}) {
    trace::ByteWriter payload;
    trace::encode_moment(large, first, trace::Packing::Smallest, payload);
    ASSERT_EQ(trace::decode_moment(payload.bytes(), 0, budget, moments), nullptr);
  }
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_EQ(moments[0], large);
}

TEST(MomentCodec, RefusesWhatCantBe) {
  const Moment good = moments_of_example().front();
  trace::ByteWriter payload;
  trace::encode_moment(good, 0, trace::Packing::Smallest, payload);
  std::vector<Moment> moments;
  const auto refused = [&](std::vector<std::uint8_t> bytes, std::size_t shapes) {
    const bool is_refused = trace::decode_moment(bytes, shapes, budget, moments) != nullptr;
    return is_refused && moments.empty();
  };
  EXPECT_TRUE(refused(payload.bytes(), 0)) << "a shape that isn't there";
  for (std::size_t cut = 0; cut < payload.bytes().size(); ++cut) {
    EXPECT_TRUE(refused({payload.bytes().begin(), payload.bytes().begin() + static_cast<std::ptrdiff_t>(cut)}, 1))
        << cut;
  }
  std::vector<std::uint8_t> longer = payload.bytes();
  longer.push_back(0);
  EXPECT_TRUE(refused(longer, 1));
  Moment second_half = good;
  trace::ByteWriter later;
  trace::encode_moment(second_half, 1, trace::Packing::Smallest, later);
  EXPECT_TRUE(refused(later.bytes(), 1)) << "goes on without a beginning";
  Moment backwards = good;
  std::swap(backwards.blocks[0], backwards.blocks[1]);
  trace::ByteWriter wrong;
  trace::encode_moment(backwards, 0, trace::Packing::Smallest, wrong);
  EXPECT_TRUE(refused(wrong.bytes(), 1));
  EXPECT_EQ(trace::decode_moment(payload.bytes(), 1, budget, moments), nullptr);
}

}  // namespace
}  // namespace tare::test
