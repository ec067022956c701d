// A reading of the resident memory survives the file; pieces that can't be end it.
#include "trace/file/process_codec.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

using trace::MemoryReading;
using trace::ProcessRecord;
using trace::RangeKind;

MemoryReading decoded(const MemoryReading& reading) {
  ProcessRecord record;
  record.info.reading = reading;
  trace::ByteWriter bytes;
  trace::encode_process(record, bytes);
  ProcessRecord read;
  EXPECT_TRUE(trace::decode_process(bytes.bytes(), read));
  return read.info.reading.value_or(MemoryReading{});
}

TEST(ProcessCodec, KeepsAReading) {
  MemoryReading reading{.stamp = 12,
                        .recorder_bytes = 1,
                        .file_bytes = 2,
                        .shared_bytes = 3,
                        .stack_bytes = 4,
                        .other_bytes = 5,
                        .huge_bytes = 6,
                        .page_table_bytes = 7,
                        .pieces = {}};
  reading.pieces = {{0x1000, 0x2000, 0x1000, RangeKind::Break},
                    {0x7f0000000000, 0x1000, 0x1000, RangeKind::AboveGuard}};
  EXPECT_EQ(decoded(reading), reading);
  EXPECT_EQ(decoded({}), MemoryReading{});
}

TEST(ProcessCodec, EndsAReadingAtTheFirstPieceThatCantBe) {
  MemoryReading reading;
  reading.pieces = {{0x1000, 0x1000, 0x1000, RangeKind::Anonymous}, {0x3000, 0x1000, 0x1001, RangeKind::Anonymous}};
  EXPECT_EQ(decoded(reading).pieces.size(), 1u);
  reading.pieces[1] = {0x3000, ~0ull - 0x2000, 1, RangeKind::Anonymous};
  EXPECT_EQ(decoded(reading).pieces.size(), 1u);
  reading.pieces[1] = {0x3000, 0x1000, 1, static_cast<RangeKind>(4)};
  EXPECT_EQ(decoded(reading).pieces.size(), 1u);
  reading.pieces[1] = {0x1800, 0x1000, 1, RangeKind::Anonymous};  // within the one before
  EXPECT_EQ(decoded(reading).pieces.size(), 1u);
}

}  // namespace
}  // namespace tare
